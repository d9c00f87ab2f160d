import BywayLibC
import BywayPrimitives
import CBywaySerialPort

/// The settings of a terminal, as in termios(3), with any rate (ioctl_tty(2), TCGETS2).
struct LineSettings: Sendable {
  private var system: line_settings

  init(of descriptor: CInt) throws(SystemError) {
    system = line_settings()
    try SystemError.check(ioctl(descriptor, GET_LINE_SETTINGS, &system))
  }

  func apply(to descriptor: CInt) throws(SystemError) {
    var system = system
    try SystemError.check(ioctl(descriptor, SET_LINE_SETTINGS, &system))
  }

  /// Passes bytes unchanged: no echo, no lines, no signals, and no special bytes.
  mutating func makeRaw() {
    // A framing error or a break arrives as a zero byte, which the line layer expects between frames.
    system.input = 0
    system.output = 0
    system.local = 0
    system.control |= UInt32(CREAD | CLOCAL | CS8)
    keepControlLinesAtClose()
    // A read without input reports "try again". With VMIN 0 it would look like the end of the file.
    withUnsafeMutableBytes(of: &system.characters) { characters in
      characters[Int(VMIN)] = 1
      characters[Int(VTIME)] = 0
    }
  }

  /// Keeps DTR raised on close. A drop of DTR resets many boards.
  mutating func keepControlLinesAtClose() {
    system.control &= ~UInt32(HUPCL)
  }

  mutating func setFlowControl(_ flow: LineFormat.FlowControl) {
    system.control &= ~UInt32(CRTSCTS)
    if flow == .rtscts { system.control |= UInt32(CRTSCTS) }
  }

  /// Sets the rate, parity and stop bits.
  mutating func setFormat(_ format: LineFormat) {
    let rateBits = RATE_MASK | RATE_MASK << INPUT_RATE_SHIFT
    let formatBits = UInt32(CSIZE | PARENB | PARODD | CSTOPB)
    system.control &= ~(rateBits | formatBits)
    system.control |= UInt32(CS8) | RATE_AS_NUMBER
    system.input_rate = UInt32(format.baud)
    system.output_rate = UInt32(format.baud)
    if format.parity != .none { system.control |= UInt32(PARENB) }
    if format.parity == .odd { system.control |= UInt32(PARODD) }
    if format.stopBits == 2 { system.control |= UInt32(CSTOPB) }
  }

  var baud: Int { Int(system.output_rate) }

  var isRaw: Bool {
    let meaning = UInt32(ISTRIP | INLCR | IGNCR | ICRNL | IXON | IXOFF | PARMRK)
    return system.input & meaning == 0 && system.output & UInt32(OPOST) == 0
      && system.local & UInt32(ICANON | ECHO | ISIG | IEXTEN) == 0 && system.control & UInt32(CSIZE) == UInt32(CS8)
  }

  var parity: LineFormat.Parity {
    guard system.control & UInt32(PARENB) != 0 else { return .none }
    return system.control & UInt32(PARODD) != 0 ? .odd : .even
  }

  var stopBits: Int { system.control & UInt32(CSTOPB) != 0 ? 2 : 1 }

  var hasHardwareFlowControl: Bool { system.control & UInt32(CRTSCTS) != 0 }
}
