/// A transport that knows which places on this machine a link can lead to. `byway ports` asks it.
public protocol PortListing: Transport {
  /// Takes some milliseconds, and opens nothing: not for event loops.
  func ports() throws -> [LinkPort]
}

/// A place on this machine that a link can lead to, such as a serial port.
public struct LinkPort: Sendable, Hashable {
  /// Ready to be used as a link, and as stable as the system allows.
  public var address: String
  /// The device file of the moment.
  public var device: String
  /// What the device calls itself: "FTDI FT232R USB UART". Without control characters.
  public var name: String?
  /// Why it cannot be opened now: "in use by process 4711 (picocom)".
  public var obstacle: String?

  /// A port that can be opened now, if there is no obstacle.
  /// - Parameters:
  ///   - address: ready to be used as a link.
  ///   - device: the device file of the moment.
  ///   - name: what the device calls itself.
  ///   - obstacle: why it cannot be opened now.
  public init(address: String, device: String, name: String? = nil, obstacle: String? = nil) {
    self.address = address
    self.device = device
    self.name = name
    self.obstacle = obstacle
  }
}

extension TransportRegistry {
  /// The ports of every transport that knows any, by scheme.
  package func ports() throws -> [LinkPort] {
    try listings.flatMap { try $0.ports() }
  }
}
