public import Byway
import BywayPrimitives
import Logging
public import NIOCore

/// A transport for links over a CAN bus, with ISO-TP (ISO 15765-2): `can:can0?tx=7E0&rx=7E8`.
///
/// A bus has no connections. Both the connecting and the listening end open a socket with the same two identifiers, in the other order,
/// and a listener opens it again after each loss of its interface.
public struct CANTransport: Transport {
  public let scheme = "can"
  public let forms = [AddressForm("can:INTERFACE?tx=ID&rx=ID", "a CAN bus, with ISO-TP")]
  public let options = CANAddress.options

  private let calls: SocketCalls

  /// Creates a transport. All options are in the addresses.
  public init() {
    self.init(calls: .kernel)
  }

  init(calls: SocketCalls) {
    self.calls = calls
  }

  public func check(_ address: LinkAddress) throws {
    _ = try CANAddress(address)
  }

  public func line(for address: LinkAddress) throws -> LineProperties? {
    LineProperties(bytesPerSecond: try CANAddress(address).rate)
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await DeviceFailures.reported { try await open(CANAddress(address), context) }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try CANAddress(address)
    return try await DeviceFailures.reported {
      try await DeviceWatch(device: place.interface, logger: context.logger) { queue in
        try await open(place, context, to: queue)
      }.listen(on: address)
    }
  }

  /// - Throws: ``CANFailure``.
  private func open(
    _ address: CANAddress, _ context: LinkContext, to queue: ChannelQueue? = nil
  ) async throws -> any Channel {
    let descriptor = try ISOTPSocket.open(address, calls: calls)
    let medium = ISOTPSocket.medium(descriptor, name: address.interface)
    do {
      return try await medium.open(on: context.group, to: queue, logger: context.logger)
    } catch {
      throw CANFailure.unusable(address.interface, "no channel can be made of it (\(error))")
    }
  }
}
