public import Byway
import BywayPrimitives
import Logging
public import NIOCore
import NIOPosix

/// A transport for links over virtio serial ports: `virtio:NAME` in a virtual machine, `virtio:/run/vm.sock` on its host.
///
/// A port has two ends and no server. Both the connecting and the listening end open it in the same way, and a listener opens it again
/// after each loss.
public struct VirtioTransport: Transport {
  public let scheme = "virtio"
  public let forms = [
    AddressForm("virtio:NAME", "a virtio serial port of this virtual machine"),
    AddressForm("virtio:PATH", "the host's socket of a virtio serial port"),
  ]
  let list: VirtioPortList

  /// Creates a transport. All facts are in the addresses.
  public init() {
    self.init(list: VirtioPortList())
  }

  init(list: VirtioPortList) {
    self.list = list
  }

  public func check(_ address: LinkAddress) throws {
    _ = try VirtioPlace(address)
  }

  /// A port or socket that is not there may appear later.
  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    guard case .path(let path) = try VirtioPlace(address), let flaw = list.flaw(of: path) else { return }
    throw BywayError(.invalidAddress, flaw.diagnosis)
  }

  /// A port is as fast as the machine, and waits for its reader.
  public func line(for address: LinkAddress) throws -> LineProperties? { LineProperties(bytesPerSecond: nil) }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await DeviceFailures.reported { try await opener(for: address, context).open() }
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await DeviceFailures.reported {
      let opener = try opener(for: address, context)
      return try await DeviceWatch(device: "\(opener.place)", logger: context.logger) { queue in
        try await opener.open(to: queue)
      }.listen(on: address)
    }
  }

  private func opener(for address: LinkAddress, _ context: LinkContext) throws -> VirtioOpener {
    VirtioOpener(
      place: try VirtioPlace(address), ports: list, group: context.group, logger: context.logger)
  }
}
