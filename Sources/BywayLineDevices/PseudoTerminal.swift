import BywayLibC
import BywayLineEmulation
import CBywayPseudoTerminal

/// A terminal in raw mode without hardware: programs open its name, and this end plays the cable.
///
/// Both sides are held open, so that a program may close the device and open it again as it could a real port; that all goes
/// away is a hang-up, and happens when this object does. Not for several threads.
final class PseudoTerminal {
  /// `/dev/pts/7`.
  let name: String
  let descriptor: CInt
  /// Whether programs are kept from writing.
  private(set) var isStopped = false
  private let held: CInt

  /// - Parameter rate: the rate that it has before a program sets one, in bits per second; `nil`: the system's.
  init(rate: Int? = nil) throws(LineFailure) {
    // Not inherited: a child that held this end would keep the device from hanging up.
    let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system("Cannot make a pseudo-terminal") }
    let number = pseudo_terminal_unlock(descriptor)
    let name = "/dev/pts/\(number)"
    let held = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard held >= 0, Self.makeRaw(held), rate.map({ terminal_set_rates(held, UInt32(clamping: $0)) == 0 }) ?? true
    else {
      defer {
        if held >= 0 { close(held) }
        close(descriptor)
      }
      throw .system("Cannot open \(name)")
    }
    // Not before: what is this object's own is closed with it, also where it cannot be made.
    (self.descriptor, self.name, self.held) = (descriptor, name, held)
  }

  deinit {
    close(held)
    close(descriptor)
  }

  /// Returns the bytes that programs have written; none if there are none.
  func read(atMost limit: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      count = max(0, BywayLibC.read(descriptor, buffer.baseAddress, limit))
    }
  }

  /// - Returns: how many bytes there was room for.
  func write(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { max(0, BywayLibC.write(descriptor, $0.baseAddress, $0.count)) }
  }

  /// The rates of the device, as programs have set them; `nil` if one is 0, which hangs up a modem.
  var rates: LineRates? {
    var (input, output) = (UInt32(0), UInt32(0))
    guard terminal_rates(descriptor, &input, &output) == 0, input > 0, output > 0 else { return nil }
    return LineRates(input: Int(input), output: Int(output))
  }

  /// Lets programs write, or makes their writes fail with EAGAIN, as after XOFF but invisibly.
  func stop(_ isStopped: Bool) {
    guard isStopped != self.isStopped else { return }
    self.isStopped = isStopped
    tcflow(held, isStopped ? TCOOFF : TCOON)
  }

  /// A new one would echo, and turn line ends about.
  private static func makeRaw(_ descriptor: CInt) -> Bool {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else { return false }
    cfmakeraw(&settings)
    return tcsetattr(descriptor, TCSANOW, &settings) == 0
  }
}
