public import Byway
import BywayPrimitives
import Logging
public import NIOCore
import NIOPosix

/// A transport for links over serial lines: `serial:/dev/ttyUSB0?baud=921600`, `serial:usb:0403:6001:A50285BI`.
///
/// A line has two ends and no server. Both the connecting and the listening end open the same kind of device, and a listener
/// opens it again after each loss.
public struct SerialTransport: Transport {
  public let scheme = "serial"
  public let forms = [
    AddressForm("serial:PATH", "a serial line"),
    AddressForm("serial:usb:VID:PID", "a USB adapter or gadget"),
  ]
  public let options = LineFormat.options
  private let advice = SingleAdvice()

  /// Creates a transport. All options are in the addresses.
  public init() {}

  public func check(_ address: LinkAddress) throws {
    _ = try SerialAddress(address)
  }

  /// A device that is not there may be plugged in later.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    guard case .path(let path) = try SerialAddress(address).device, let resolved = try? SymbolicLink.resolved(path),
      let flaw = try? DeviceFile(path, resolved: resolved).flaw
    else { return }
    throw BywayError(.invalidAddress, flaw)
  }

  public func line(for address: LinkAddress) throws -> LineProperties? {
    LineProperties(bytesPerSecond: try SerialAddress(address).format.bytesPerSecond)
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await DeviceFailures.reported { try await opener(for: address, context).open() }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await DeviceFailures.reported {
      let opener = try opener(for: address, context)
      return try await DeviceWatch(device: "\(opener.address.device)", logger: context.logger) {
        try await opener.open(to: $0)
      }.listen(on: address)
    }
  }

  private func opener(for address: LinkAddress, _ context: LinkContext) throws -> ChannelOpener {
    ChannelOpener(
      address: try SerialAddress(address), group: context.group, logger: context.logger, advice: advice)
  }
}
