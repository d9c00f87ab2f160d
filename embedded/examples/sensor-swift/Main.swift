import CBoard

/// The program has one server and one sensor, and only its main loop uses them.
nonisolated(unsafe) private var server = Server()
nonisolated(unsafe) private var sensor = Sensor()

@c(main)
func main() -> CInt {
  let baud = accessory_baud()
  board_start(baud)
  server.start(random: board_seed(), baud: baud, now: now())
  while true { turn() }
}

private func now() -> Moment { Moment(milliseconds: board_milliseconds()) }

/// Takes received bytes, sends a frame, and sleeps.
private func turn() {
  let now = now()
  sensor.sample(now.milliseconds)
  sensor.answerLater(&server)
  receive(now)
  if board_idle() == 0 {
    server.run(now: now, &sensor)
  } else if server.output(now: now, &sensor) > 0 {
    return server.withFrame { frame in frame.withUnsafeBufferPointer { board_send($0.baseAddress, $0.count) } }
  }
  sensor.resetIfDue(now.milliseconds)
  board_sleep()
}

private func receive(_ now: Moment) {
  var bytes = InlineArray<32, UInt8>(repeating: 0)
  while true {
    var span = bytes.mutableSpan
    let count = span.withUnsafeMutableBufferPointer { board_receive($0.baseAddress, $0.count) }
    if count == 0 { return }
    server.receive(bytes.span.extracting(0..<count), now: now, &sensor)
  }
}

/// The checksum of the board's code, which is in C.
@c(byway_crc)
func checksum(_ state: UInt32, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt32 {
  var checksum = Checksum(state: state)
  checksum.add(Span(_unsafeStart: bytes, count: count))
  return checksum.state
}
