import CBoard
import CByway

/// The program has one sensor, and only its main loop uses it.
nonisolated(unsafe) private var sensor = Sensor()

private func service(
  _ end: UnsafeMutablePointer<byway>?, _ event: byway_event, _ bytes: UnsafePointer<UInt8>?, _ count: Int
) -> Int {
  guard let end else { return 0 }
  sensor.handle(event, Exchange(end: end), bytes, count)
  return count
}

@_cdecl("main")
func main() -> CInt {
  let baud = accessory_baud()
  guard let end = accessory_end() else { return 1 }
  board_start(baud)
  byway_start(end, { service($0, $1, $2, $3) }, accessory_wanted(), board_seed(), baud, board_milliseconds())
  while true { turn(end) }
}

/// Takes received bytes, sends a frame, and sleeps.
private func turn(_ end: UnsafeMutablePointer<byway>) {
  let now = board_milliseconds()
  sensor.sample(now)
  sensor.answerLater(Exchange(end: end))
  var bytes = InlineArray<32, UInt8>(repeating: 0)
  var span = bytes.mutableSpan
  span.withUnsafeMutableBufferPointer { buffer in
    while case let count = board_receive(buffer.baseAddress, 32), count > 0 {
      byway_receive(end, buffer.baseAddress, count, now)
    }
  }
  if board_idle() == 0 {
    byway_run(end, now)
  } else {
    var frame: UnsafePointer<UInt8>?
    let count = byway_output(end, now, &frame)
    if count > 0 { return board_send(frame, count) }
  }
  sensor.resetIfDue(now)
  board_sleep()
}
