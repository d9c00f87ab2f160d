import Byway
import BywayPrimitives

/// The file of a device, as the kernel describes it. It is not opened, because that would raise DTR.
struct DeviceFile {
  private let status: FileStatus
  private let path: String

  /// - Parameters:
  ///   - path: the path as the user wrote it.
  ///   - resolved: the path without symbolic links.
  init(_ path: String, resolved: String) throws(SystemError) {
    self.path = path
    status = try FileStatus(of: resolved)
  }

  /// The reason why it cannot be a serial port; `nil` if it can.
  var flaw: Diagnosis? {
    guard status.kind == .characterDevice else {
      let what =
        switch status.kind {
        case .folder: "a folder"
        case .regular: "a regular file"
        case .socket: "a socket: write unix:\(path)"
        default: "not a device"
        }
      return Diagnosis(
        .notADevice, "\(path) is \(what). \(Advice.listing("the serial ports of this machine")).",
        repair: .listPorts)
    }
    return mayBeTerminal ? nil : SerialFailure.unusable(path, "it is not a terminal").diagnosis
  }

  private var mayBeTerminal: Bool {
    let (major, minor) = (
      status.deviceNumber >> 8 & 0xFFF, status.deviceNumber & 0xFF | status.deviceNumber >> 12 & 0xFFF00
    )
    let kind = try? SymbolicLink.target(of: "/sys/dev/char/\(major):\(minor)/subsystem")
    return status.isPseudoTerminal || kind.map { $0.hasSuffix("/tty") } ?? true
  }
}
