import BywayLibC
import BywayPrimitives

/// The USB devices of this machine, as the kernel lists them.
struct USBDeviceList: Sendable {
  var folder = "/sys/bus/usb/devices"
  var devices = "/dev/bus/usb"

  /// All devices that are ready, in the order of their places: `1-2` before `1-10`.
  func all() -> [USBDevice] {
    let names = ((try? Folder.names(in: folder)) ?? []).sorted {
      Self.numbers(in: $0).lexicographicallyPrecedes(Self.numbers(in: $1))
    }
    return names.filter { !$0.contains(":") }.compactMap { name in
      device(name, interfaces: names.filter { $0.hasPrefix("\(name):") })
    }
  }

  /// Returns the device that an identity matches.
  /// - Throws: ``USBFailure`` if there is none, or more than one.
  func device(_ identity: USBIdentity) throws(USBFailure) -> USBDevice {
    let all = all()
    let matches = all.filter { identity.matches($0.identity) }
    guard let match = matches.first else { throw .noDevice(identity, all) }
    guard matches.count == 1 else { throw .ambiguous(identity, matches) }
    return match
  }

  private func device(_ name: String, interfaces: [String]) -> USBDevice? {
    let file = "\(folder)/\(name)"
    guard let vendor = line("\(file)/idVendor").flatMap({ USBIdentity.number($0) }),
      let product = line("\(file)/idProduct").flatMap({ USBIdentity.number($0) }),
      let bus = line("\(file)/busnum").flatMap({ Int($0) }), let number = line("\(file)/devnum").flatMap({ Int($0) })
    else { return nil }
    let names = [line("\(file)/manufacturer"), line("\(file)/product")].compactMap { $0 }
    return USBDevice(
      identity: USBIdentity(vendor: vendor, product: product, serial: line("\(file)/serial")),
      name: names.isEmpty ? nil : names.joined(separator: " ").visible,
      path: "\(devices)/\(Self.padded(bus))/\(Self.padded(number))",
      interfaces: interfaces.compactMap { interface("\(folder)/\($0)") })
  }

  /// Returns an interface with a pair of bulk endpoints; `nil` for others.
  private func interface(_ path: String) -> USBInterface? {
    guard let number = byte("\(path)/bInterfaceNumber"), let kind = byte("\(path)/bInterfaceClass"),
      let subclass = byte("\(path)/bInterfaceSubClass"), let version = byte("\(path)/bInterfaceProtocol")
    else { return nil }
    let endpoints = ((try? Folder.names(in: path)) ?? []).filter { $0.hasPrefix("ep_") }.sorted()
      .filter { line("\(path)/\($0)/type") == "Bulk" }.compactMap { byte("\(path)/\($0)/bEndpointAddress") }
    guard let input = endpoints.first(where: { $0 & 0x80 != 0 }),
      let output = endpoints.first(where: { $0 & 0x80 == 0 })
    else { return nil }
    let driver = (try? SymbolicLink.target(of: "\(path)/driver")).flatMap { $0.split(separator: "/").last }
    return USBInterface(
      number: number, kind: USBClass(kind: kind, subclass: subclass, version: version), input: input, output: output,
      driver: driver.map { String($0) })
  }

  private func line(_ path: String) -> String? {
    KernelFile.lines(of: path).first.map { String($0) }
  }

  private func byte(_ path: String) -> UInt8? {
    line(path).flatMap { UInt8($0.filter { $0 != " " }, radix: 16) }
  }

  private static func padded(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 3 - digits.utf8.count)) + digits
  }

  private static func numbers(in name: String) -> [Int] {
    name.split { !$0.isNumber }.compactMap { Int($0) }
  }
}
