public import Byway
import BywayPrimitives
import Logging
public import NIOCore

/// A transport for the device's end of links over USB: `usb-gadget:?name=NAME` creates a gadget, and `usb-gadget:/dev/ffs/link` uses a function
/// of a gadget that the system has created.
public struct USBGadgetTransport: Transport {
  public let scheme = "usb-gadget"
  public let forms = [
    AddressForm("usb-gadget:?name=NAME", "a gadget on the USB device port of this machine"),
    AddressForm("usb-gadget:PATH", "a FunctionFS that the system has mounted"),
  ]
  public let options = GadgetSettings.options
  let layout: GadgetLayout

  /// Creates a transport. All facts are in the addresses.
  public init() {
    self.init(layout: GadgetLayout())
  }

  init(layout: GadgetLayout) {
    self.layout = layout
  }

  public func check(_ address: LinkAddress) throws {
    _ = try GadgetPlace(address)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    if opening == .dial { throw Self.cannotDial(address, .invalidAddress) }
  }

  /// A cable carries bytes unchanged until it is unplugged.
  public func line(for address: LinkAddress) throws -> LineProperties? {
    var properties = LineProperties(bytesPerSecond: nil)
    properties.isClean = true
    return properties
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    throw Self.cannotDial(address, .linkUnavailable)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try GadgetPlace(address)
    let gadget = Gadget(place, layout: layout)
    let (group, logger) = (context.group, context.logger)
    do {
      let listener = try await DeviceWatch(device: "a computer at the \(place)", logger: logger) { queue in
        try await gadget.open(on: group, to: queue, logger: logger)
      }.listen(on: address)
      return GadgetListener(base: listener, gadget: gadget)
    } catch {
      gadget.close()
      if let failure = error as? GadgetFailure { throw BywayError(.linkUnavailable, failure.diagnosis) }
      throw error
    }
  }

  private static func cannotDial(_ address: LinkAddress, _ code: BywayError.Code) -> BywayError {
    BywayError(
      code, "\(address) can only listen: leave out open=dial here, and let the computer dial with usb:.",
      processing: .none)
  }
}

/// A listener that removes its gadget.
private struct GadgetListener: Listener {
  let base: any Listener
  let gadget: Gadget

  var address: LinkAddress { base.address }
  var channels: AsyncThrowingStream<any Channel, any Error> { base.channels }
  var unavailableReason: String? { base.unavailableReason }

  func close() async {
    await base.close()
    gadget.close()
  }
}
