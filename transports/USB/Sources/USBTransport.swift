public import Byway
import BywayPrimitives
import Logging
public import NIOCore

/// A transport for the computer's end of links over USB: `usb:1d6b:0104`, `usb:1d6b:0104:SERIAL`.
///
/// A cable has no connections. Both the connecting and the listening end open the interface in the same way, and a listener opens it again
/// after each loss.
public struct USBTransport: Transport {
  public let scheme = "usb"
  public let forms = [AddressForm("usb:VID:PID[:SERIAL]", "a gadget or printer on a USB port of this machine")]
  public let options = USBPlace.options
  let list: USBDeviceList
  private let calls: DeviceCalls

  /// Creates a transport. All facts are in the addresses.
  public init() {
    self.init(list: USBDeviceList())
  }

  init(list: USBDeviceList, calls: DeviceCalls = .kernel) {
    self.list = list
    self.calls = calls
  }

  public func check(_ address: LinkAddress) throws {
    _ = try USBPlace(address)
  }

  /// A cable carries bytes unchanged until it is unplugged. A printer has no line layer.
  public func line(for address: LinkAddress) throws -> LineProperties? {
    guard try USBPlace(address).kind == .link else { return nil }
    var properties = LineProperties(bytesPerSecond: nil)
    properties.isClean = true
    return properties
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await DeviceFailures.reported { try await open(USBPlace(address), context) }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try USBPlace(address)
    return try await DeviceFailures.reported {
      try await DeviceWatch(device: "USB device \(place.identity)", logger: context.logger) { queue in
        try await open(place, context, to: queue)
      }.listen(on: address)
    }
  }

  /// Opens the interface, or for several alike the first one that is free.
  /// - Throws: ``USBFailure``.
  private func open(_ place: USBPlace, _ context: LinkContext, to queue: ChannelQueue? = nil) async throws
    -> any Channel
  {
    let device = try list.device(place.identity)
    let pipe = try pipe(device, place)
    let logger = context.logger
    do {
      return try await ThreadChannel.open(on: context.group, to: queue) { socket in
        TransferPump(pipe, socket: socket, name: "\(place.identity)", logger: logger).run()
      }
    } catch {
      if error is ThreadChannel.StartFailure { pipe.close() }
      throw USBFailure.unusable(device, "no channel can be made of it (\(error))")
    }
  }

  private func pipe(_ device: USBDevice, _ place: USBPlace) throws(USBFailure) -> DevicePipe {
    var failure = USBFailure.noInterface(device, place)
    for interface in device.interfaces
    where interface.kind == place.kind && (place.interface ?? interface.number) == interface.number {
      do {
        return try DevicePipe(device, interface, calls: calls)
      } catch .inUse(let device, let interface) {
        failure = .inUse(device, interface)
      }
    }
    throw failure
  }
}
