import Byway
import BywayPrimitives

/// Checks that the device of the address exists, and is a serial port.
struct DeviceCheck: LinkCheck {
  static let title = "device"

  let address: LinkAddress

  /// - Returns: the path of the device file, without symbolic links.
  func examine(_ resources: OpenedResources) async throws -> Finding<String> {
    do {
      switch try SerialAddress(address).device {
      case .path(let path): return try look(at: path)
      case .usb(let pattern):
        let path = try PortList().path(of: pattern)
        return .sound(Self.description(of: path), path)
      }
    } catch let failure as SerialFailure {
      return .wrong(failure.diagnosis)
    }
  }

  private func look(at path: String) throws -> Finding<String> {
    let resolved: String
    do {
      resolved = try SymbolicLink.resolved(path)
    } catch {
      throw SerialFailure(opening: path, error)
    }
    if let flaw = try DeviceFile(path, resolved: resolved).flaw { return .wrong(flaw) }
    if PortList().lacksHardware(resolved.split(separator: "/").last.map(String.init) ?? "") {
      throw SerialFailure.missing(resolved)
    }
    let way = resolved == path ? "" : "\(path) is "
    return .sound("\(way)\(Self.description(of: resolved))", resolved)
  }

  /// A description such as "/dev/ttyUSB0, FTDI FT232R USB UART."
  private static func description(of path: String) -> String {
    if (try? FileStatus(of: path))?.isPseudoTerminal == true { return "\(path), a pseudo-terminal." }
    return path + (ModemPort.adapter(of: path)?.name.map { ", \($0)" } ?? "") + "."
  }
}
