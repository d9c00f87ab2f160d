import BywayLibC
import BywayPrimitives

/// The serial ports of this system.
///
/// Ports are found in sysfs, and libserialport is asked only about each of them. Its own list opens every UART, which raises
/// DTR and resets many boards.
struct PortList: Sendable {
  var classes = "/sys/class/tty"
  var devices = "/dev"

  /// All ports in the order of their names, `ttyUSB2` before `ttyUSB10`.
  func all() -> [PortDescription] {
    let aliases = aliases()
    return names().map { name in
      let path = "\(devices)/\(name)"
      return PortDescription(path: path, usb: ModemPort.adapter(of: path), alias: aliases[path])
    }
  }

  /// Returns the port of the adapter that a pattern matches.
  /// - Throws: ``SerialFailure`` if there is none, or more than one.
  func path(of pattern: USBIdentity) throws -> String {
    let paths = names().map { "\(devices)/\($0)" }
    let matches = paths.filter { ModemPort.adapter(of: $0).map { pattern.matches($0.identity) } ?? false }
    guard let match = matches.first else { throw SerialFailure.noAdapter(pattern) }
    guard matches.count == 1 else { throw SerialFailure.ambiguous(pattern, all().filter { matches.contains($0.path) }) }
    return match
  }

  func names() -> [String] {
    ((try? Folder.names(in: classes)) ?? []).filter(isPort).sorted { Self.sortKey($0) < Self.sortKey($1) }
  }

  /// Whether the UART does not exist. A kernel has four 16550s whether the board has them or not; missing ones have type 0
  /// (unknown).
  func lacksHardware(_ name: String) -> Bool {
    KernelFile.text(of: "\(classes)/\(name)/type")?.hasPrefix("0\n") == true
  }

  private func isPort(_ name: String) -> Bool {
    guard access("\(devices)/\(name)", F_OK) == 0 else { return false }
    if lacksHardware(name) { return false }
    // Virtual terminals such as consoles have no hardware. The device side of a USB gadget and Bluetooth lines do.
    let isVirtual = (try? SymbolicLink.target(of: "\(classes)/\(name)"))?.contains("/virtual/") ?? true
    return !isVirtual || name.hasPrefix("ttyGS") || name.hasPrefix("rfcomm")
  }

  /// The stable names of udev, by device path. A name by serial number is preferred to one by socket. If two adapters without a
  /// serial number are alike, only the socket distinguishes them.
  private func aliases() -> [String: String] {
    var aliases: [String: String] = [:]
    for folder in ["\(devices)/serial/by-path", "\(devices)/serial/by-id"] {
      for name in ((try? Folder.names(in: folder)) ?? []).sorted() {
        let alias = "\(folder)/\(name)"
        guard let path = try? SymbolicLink.resolved(alias) else { continue }
        let tellsApart = folder.hasSuffix("by-path") || ModemPort.adapter(of: path)?.identity.serial != nil
        if tellsApart || aliases[path] == nil { aliases[path] = alias }
      }
    }
    return aliases
  }

  private static func sortKey(_ name: String) -> (String, Int) {
    let letters = name.prefix { !$0.isNumber }
    return (String(letters), Int(name[letters.endIndex...]) ?? 0)
  }
}
