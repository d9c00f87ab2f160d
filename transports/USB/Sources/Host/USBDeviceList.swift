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
      device(name)
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

  private func device(_ name: String) -> USBDevice? {
    let file = "\(folder)/\(name)"
    guard let vendor = line("\(file)/idVendor").flatMap({ USBIdentity.number($0) }),
      let product = line("\(file)/idProduct").flatMap({ USBIdentity.number($0) }),
      let bus = line("\(file)/busnum").flatMap({ Int($0) }), let number = line("\(file)/devnum").flatMap({ Int($0) })
    else { return nil }
    let configuration = line("\(file)/bConfigurationValue").flatMap { UInt8($0) } ?? 1
    let names = [line("\(file)/manufacturer"), line("\(file)/product")].compactMap { $0 }
    return USBDevice(
      identity: USBIdentity(vendor: vendor, product: product, serial: line("\(file)/serial")),
      name: names.isEmpty ? nil : names.joined(separator: " ").visible,
      path: "\(devices)/\(Self.padded(bus))/\(Self.padded(number))",
      interfaces: USBDescriptors.interfaces(in: bytes("\(file)/descriptors"), configuration: configuration)
        .map { interface($0, "\(file):\(configuration)") })
  }

  /// Adds the driver that has an interface.
  private func interface(_ interface: USBInterface, _ path: String) -> USBInterface {
    let driver = (try? SymbolicLink.target(of: "\(path).\(interface.number)/driver"))
    var interface = interface
    interface.driver = driver.flatMap { $0.split(separator: "/").last }.map { String($0) }
    return interface
  }

  private func bytes(_ path: String) -> [UInt8] {
    guard let descriptor = try? Descriptor.open(path, O_RDONLY) else { return [] }
    defer { close(descriptor) }
    return (try? Descriptor.read(descriptor, upTo: 1 << 16)) ?? []
  }

  private func line(_ path: String) -> String? {
    KernelFile.lines(of: path).first.map { String($0) }
  }

  private static func padded(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 3 - digits.utf8.count)) + digits
  }

  private static func numbers(in name: String) -> [Int] {
    name.split { !$0.isNumber }.compactMap { Int($0) }
  }
}
