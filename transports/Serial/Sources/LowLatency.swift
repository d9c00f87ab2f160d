import CSerialPort
import Glibc
import Logging
import Primitives

/// Adapters collect received bytes before they hand them up, FTDI's for 16 ms, which would be most of a round trip.
enum LowLatency {
  static let wanted = 1

  /// Asks the driver, then the system's file, then the reader of the log.
  static func request(
    of path: String, descriptor: CInt, logger: Logger, advice: Advice, sysfs: String = "/sys/class/tty"
  ) {
    setFlag(descriptor)
    let file = file(of: path, sysfs: sysfs)
    guard let current = milliseconds(file), current > wanted else { return }
    guard !KernelFile.write("\(wanted)\n", to: file) else { return }
    advice.giveOnce("latency \(path)") {
      logger.notice(
        """
        \(path) holds received bytes for up to \(current) ms: install the udev rule 70-byway-serial.rules, or run \
        \"echo \(wanted) | sudo tee \(file)\" after each plugging.
        """)
    }
  }

  /// FTDI's driver takes this from anyone who may open the port; others ignore or refuse it.
  private static func setFlag(_ descriptor: CInt) {
    var settings = serial_struct()
    guard ioctl(descriptor, UInt(TIOCGSERIAL), &settings) == 0, settings.flags & LOW_LATENCY == 0 else { return }
    settings.flags |= LOW_LATENCY
    _ = ioctl(descriptor, UInt(TIOCSSERIAL), &settings)
  }

  /// Where the system has the time, if the adapter has one.
  static func file(of path: String, sysfs: String = "/sys/class/tty") -> String {
    "\(sysfs)/\(path.split(separator: "/").last ?? "")/device/latency_timer"
  }

  static func milliseconds(_ file: String) -> Int? {
    KernelFile.text(of: file).flatMap { Int($0.prefix { $0.isNumber }) }
  }
}
