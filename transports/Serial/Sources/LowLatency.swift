import BywayLibC
import BywayPrimitives
import CBywaySerialPort
import Logging

/// Requests low latency of adapters. They collect received bytes before they deliver them: FTDI's for 16 ms, which would be
/// most of a round trip.
enum LowLatency {
  static let wanted = 1

  /// Tries the driver, then the file in sysfs, and otherwise logs what the user can do.
  static func request(
    of path: String, descriptor: CInt, logger: Logger, advice: SingleAdvice, sysfs: String = "/sys/class/tty"
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

  /// Sets the driver's flag. FTDI's driver accepts it from anyone who may open the port; others ignore or refuse it.
  private static func setFlag(_ descriptor: CInt) {
    var settings = serial_struct()
    guard ioctl(descriptor, UInt(TIOCGSERIAL), &settings) == 0, settings.flags & LOW_LATENCY == 0 else { return }
    settings.flags |= LOW_LATENCY
    _ = ioctl(descriptor, UInt(TIOCSSERIAL), &settings)
  }

  /// The sysfs file of the latency timer, if the adapter has one.
  static func file(of path: String, sysfs: String = "/sys/class/tty") -> String {
    "\(sysfs)/\(path.split(separator: "/").last ?? "")/device/latency_timer"
  }

  static func milliseconds(_ file: String) -> Int? {
    KernelFile.text(of: file).flatMap { Int($0.prefix { $0.isNumber }) }
  }
}
