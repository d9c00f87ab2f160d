/// A transport that can list the ports on this machine that a link can use. For `byway ports`.
public protocol PortListing: Transport {
  /// Lists the ports without opening any. Takes some milliseconds: not for event loops.
  func ports() throws -> [LinkPort]
}

/// A port on this machine that a link can use, such as a serial port.
public struct LinkPort: Sendable, Hashable {
  /// A link address, as stable as the system allows.
  public var address: String
  /// The current device file.
  public var device: String
  /// The name that the device reports: "FTDI FT232R USB UART". Without control characters.
  public var name: String?
  /// Why it cannot be opened now: "in use by process 4711 (picocom)".
  public var unavailableReason: String?

  /// Creates a port, which can be opened now if `unavailableReason` is `nil`.
  /// - Parameters:
  ///   - address: a link address.
  ///   - device: the current device file.
  ///   - name: the name that the device reports.
  ///   - unavailableReason: why it cannot be opened now.
  public init(address: String, device: String, name: String? = nil, unavailableReason: String? = nil) {
    self.address = address
    self.device = device
    self.name = name
    self.unavailableReason = unavailableReason
  }
}
