public import Byway
import BywayLibC
import BywayPrimitives
import Logging
public import NIOCore

/// A transport for links over Bluetooth, with RFCOMM: `rfcomm:AA:BB:CC:DD:EE:FF:3` to dial, `rfcomm:any:3` to listen.
///
/// A connection ends when a device is out of range, and RFCOMM cannot end one direction. So it is a line, whose sessions continue over the
/// next connection.
public struct RFCOMMTransport: Transport {
  public let scheme = "rfcomm"
  public let forms = [
    AddressForm("rfcomm:ADDRESS[:CHANNEL]", "a Bluetooth device, with RFCOMM"),
    AddressForm("rfcomm:any[:CHANNEL]", "Bluetooth devices that connect to this machine"),
  ]
  public let options = RFCOMMPlace.options
  let system: any BluetoothSystem
  private let dialing: ConnectThreads

  /// Creates a transport. All facts are in the addresses.
  public init() {
    self.init(system: KernelBluetooth())
  }

  init(system: any BluetoothSystem, grace: TimeAmount = .seconds(1)) {
    self.system = system
    dialing = ConnectThreads({ (run) throws(SystemError) in try system.startThread(run) }, grace: grace)
  }

  public func check(_ address: LinkAddress) throws {
    _ = try RFCOMMPlace(address)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    let place = try RFCOMMPlace(address)
    switch opening {
    case .dial: _ = try place.dialed()
    case .listen: try place.checkListening()
    }
  }

  /// The kernel encrypts connections with medium or high security.
  public func isEncrypted(_ address: LinkAddress) -> Bool {
    (try? RFCOMMPlace(address)).map { $0.security != .low } ?? false
  }

  /// RFCOMM delivers bytes unchanged until its connection ends.
  public func line(for address: LinkAddress) throws -> LineProperties? {
    var properties = LineProperties(bytesPerSecond: nil)
    properties.isClean = true
    return properties
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let place = try RFCOMMPlace(address)
    let device = try place.dialed()
    return try await DeviceFailures.reported {
      let descriptor = try await dial(device, place, context)
      do {
        return try await LineMedium(descriptor, .bytes, name: "\(device)").open(
          on: context.group, logger: context.logger)
      } catch {
        throw RFCOMMFailure.unusable(place, "no channel can be made of it (\(error))")
      }
    }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try RFCOMMPlace(address)
    try place.checkListening()
    return try await DeviceFailures.reported { try RFCOMMListener.start(place, system, context) }
  }

  /// - Throws: ``RFCOMMFailure``.
  private func dial(_ device: BluetoothAddress, _ place: RFCOMMPlace, _ context: LinkContext) async throws -> CInt {
    let (system, deadline) = (system, context.deadline)
    let controllers: [BluetoothController]
    do throws(SystemError) {
      controllers = try system.controllers()
    } catch {
      throw RFCOMMFailure(connecting: place, to: device, error, on: [], expecting: context.peer)
    }
    // The kernel would also dial with a controller that is on its way off, and fail late.
    if let absence = RFCOMMFailure.absence(of: place.controller, among: controllers) { throw absence }
    let local = place.controller.flatMap { controller in controllers.first { $0.matches(controller) } }?.address ?? .any
    do {
      return try await dialing.open(on: context.group.next(), by: deadline) { () throws(SystemError) in
        try system.connect(
          to: device, channel: place.channel, from: local, security: place.security, by: deadline)
      }
    } catch let error as SystemError {
      throw RFCOMMFailure(
        connecting: place, to: device, error, on: controllers, expecting: context.peer)
    } catch let failure as ConnectThreads.Failure {
      switch failure {
      case .stuck: throw RFCOMMFailure.kernelStuck
      case .busy: throw RFCOMMFailure.tooMany
      }
    }
  }
}
