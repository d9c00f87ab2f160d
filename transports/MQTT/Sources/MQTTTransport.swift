public import Byway
public import NIOCore

/// A transport for links through an MQTT broker, which both ends dial: `mqtt://broker/byway/sensor1`.
///
/// A gateway announces itself by a retained message below the topic of the address. Each user has a session with topics of its own.
public struct MQTTTransport: Transport {
  public let scheme: String
  public let crossesNetwork = true

  /// Creates the transport for `mqtt:` or `mqtts:`. All facts are in the addresses.
  /// - Parameter isSecure: whether TLS protects the connections to the broker, which makes it `mqtts:`.
  public init(isSecure: Bool = false) {
    scheme = isSecure ? "mqtts" : "mqtt"
  }

  public var forms: [AddressForm] {
    [
      AddressForm(
        "\(scheme)://BROKER/TOPIC",
        scheme == "mqtts" ? "messages of an MQTT broker, with TLS" : "messages of an MQTT broker")
    ]
  }

  public var options: [LinkOption] { scheme == "mqtts" ? MQTTTarget.secureOptions : MQTTTarget.plainOptions }

  public func check(_ address: LinkAddress) throws {
    _ = try MQTTTarget(address)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    _ = try MQTTTarget(address).settings(clientID: "", code: .unreadableFile)
  }

  public func isEncrypted(_ address: LinkAddress) -> Bool { scheme == "mqtts" }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let target = try MQTTTarget(address)
    let eventLoop = context.group.next()
    let session = try MQTTClientSession(target, on: eventLoop, context: context)
    do {
      try await context.step(
        "broker",
        saw: { _, time in
          .sound("\(target.place) knows a gateway at \(target.topics.base), in \(time.inMilliseconds) ms.")
        }
      ) {
        try await eventLoop.flatSubmit { session.reach(by: context.deadline) }.get()
      }
      return try await context.step(
        "session", or: .noAnswer,
        saw: { _, time in .sound("The gateway opens a session, in \(time.inMilliseconds) ms.") }
      ) {
        try await eventLoop.flatSubmit { session.open(by: context.deadline) }.get()
      }
    } catch {
      eventLoop.execute { session.abandon() }
      throw error
    }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let target = try MQTTTarget(address)
    let eventLoop = context.group.next()
    let listener = try GatewayListener(target, on: eventLoop, context: context)
    do {
      try await eventLoop.flatSubmit { listener.start(by: context.deadline) }.get()
    } catch let error as BywayError where MQTTFailure.mayPass(error) {
      eventLoop.execute { listener.wait(for: error) }
    }
    return QueueListener(
      address: address, queue: listener.queue, unavailableReason: { listener.unavailableReason }
    ) {
      try? await eventLoop.flatSubmit { listener.close() }.get()
    }
  }
}
