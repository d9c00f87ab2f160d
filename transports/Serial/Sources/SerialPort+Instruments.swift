import Byway
import BywayLibC
import CBywaySerialPort

extension SerialPort {
  /// The state that the driver reports; empty for a pseudo-terminal.
  var instruments: LineInstruments {
    withDescriptor { LineInstruments(modemLines: Self.modemLines($0), receiveErrors: Self.receiveErrors($0)) }
      ?? LineInstruments()
  }

  private static func modemLines(_ descriptor: CInt) -> LineInstruments.ModemLines? {
    var lines: CInt = 0
    guard ioctl(descriptor, UInt(TIOCMGET), &lines) == 0 else { return nil }
    return .init(
      clearToSend: lines & CInt(TIOCM_CTS) != 0, dataSetReady: lines & CInt(TIOCM_DSR) != 0,
      carrier: lines & CInt(TIOCM_CAR) != 0)
  }

  private static func receiveErrors(_ descriptor: CInt) -> LineInstruments.ReceiveErrors? {
    var counters = serial_icounter_struct()
    guard ioctl(descriptor, UInt(TIOCGICOUNT), &counters) == 0 else { return nil }
    return .init(
      framing: Int(counters.frame), parity: Int(counters.parity),
      overruns: Int(counters.overrun) + Int(counters.buf_overrun))
  }
}
