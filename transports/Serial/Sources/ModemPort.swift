import BywayLibC
import BywayPrimitives
import CBywaySerialPort

/// Access through libserialport to a port with control lines: its configuration, and the identity of its adapter.
///
/// libserialport neither locks ports nor supports pseudo-terminals. Its open port is used for nothing else: bytes go through a
/// NIO channel.
enum ModemPort {
  /// Sets rate, parity and stop bits, and raises DTR and RTS.
  ///
  /// Does not set flow control, because version 0.1.1 has CRTSCTS in the wrong word of the settings. The settings stay after
  /// libserialport has closed the port, because the caller has it open, too.
  /// - Returns: `false` if libserialport does not support the port, or the port has no control lines, as on the device side of
  ///   a USB gadget.
  static func configure(_ path: String, _ format: LineFormat) throws -> Bool {
    try withPort(path) { port in
      let opened = sp_open(port, SP_MODE_READ_WRITE)
      if opened == SP_ERR_FAIL, sp_last_error_code() == ENOTTY { return false }
      try check(path, opened)
      defer { sp_close(port) }
      var configuration: OpaquePointer?
      try check(path, sp_new_config(&configuration))
      defer { sp_free_config(configuration) }
      sp_set_config_baudrate(configuration, CInt(format.baud))
      sp_set_config_bits(configuration, 8)
      sp_set_config_parity(configuration, format.parity.system)
      sp_set_config_stopbits(configuration, CInt(format.stopBits))
      sp_set_config_flowcontrol(configuration, SP_FLOWCONTROL_NONE)
      try check(path, sp_set_config(port, configuration))
      return true
    } ?? false
  }

  /// The adapter of a port; `nil` if it is not on USB.
  static func adapter(of path: String) -> USBAdapter? {
    withPort(path) { port -> USBAdapter? in
      var vendor: CInt = 0
      var product: CInt = 0
      guard sp_get_port_transport(port) == SP_TRANSPORT_USB, sp_get_port_usb_vid_pid(port, &vendor, &product) == SP_OK,
        let vendor = UInt16(exactly: vendor), let product = UInt16(exactly: product)
      else { return nil }
      return USBAdapter(
        identity: USBIdentity(vendor: vendor, product: product, serial: text(sp_get_port_usb_serial(port))),
        manufacturer: text(sp_get_port_usb_manufacturer(port)), productName: text(sp_get_port_usb_product(port)))
    } ?? nil
  }

  /// Returns `nil` if there is no such port in sysfs.
  private static func withPort<Result>(_ path: String, _ body: (OpaquePointer) throws -> Result) rethrows -> Result? {
    var port: OpaquePointer?
    guard sp_get_port_by_name(path, &port) == SP_OK, let port else { return nil }
    defer { sp_free_port(port) }
    return try body(port)
  }

  private static func check(_ path: String, _ result: sp_return) throws {
    switch result {
    case SP_OK: return
    case SP_ERR_FAIL: throw SerialFailure(opening: path, SystemError(code: sp_last_error_code()))
    case SP_ERR_SUPP: throw SerialFailure.unusable(path, "its driver does not support these settings")
    case SP_ERR_MEM: throw SerialFailure.unusable(path, "memory is exhausted")
    default: throw SerialFailure.unusable(path, "libserialport does not support these settings")
    }
  }

  /// Removes control characters, because the descriptors of a USB device are external input that could affect a terminal.
  private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    guard let pointer else { return nil }
    let scalars = String(cString: pointer).unicodeScalars.filter { $0.properties.generalCategory != .control }
    var text = String(String.UnicodeScalarView(scalars))
    while text.last == " " { text.removeLast() }
    return text.isEmpty ? nil : text
  }
}

extension LineFormat.Parity {
  fileprivate var system: sp_parity {
    switch self {
    case .none: SP_PARITY_NONE
    case .even: SP_PARITY_EVEN
    case .odd: SP_PARITY_ODD
    }
  }
}
