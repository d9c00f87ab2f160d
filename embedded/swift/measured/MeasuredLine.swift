// An end of a line as in a program, for embedded/sizes.

nonisolated(unsafe) private var line = Line()

private func at(_ milliseconds: UInt32) -> Moment { Moment(milliseconds: milliseconds) }

@c(line_start)
public func start(_ random: UInt32, _ baud: UInt32, _ now: UInt32) {
  line.start(.listening, random: random, baud: baud, now: at(now))
}

@c(line_open)
public func open(_ random: UInt32, _ now: UInt32) -> Bool { line.open(random: random, now: at(now)) }

@c(line_receive)
public func receive(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ now: UInt32) {
  line.receive(Span(_unsafeStart: bytes, count: count), now: at(now))
}

@c(line_output)
public func output(_ now: UInt32) -> UnsafePointer<UInt8>? {
  line.output(now: at(now)) == 0 ? nil : line.withFrame { frame in frame.withUnsafeBufferPointer { $0.baseAddress } }
}

@c(line_run)
public func run(_ now: UInt32) { line.run(now: at(now)) }

@c(line_deadline)
public func deadline(_ now: UInt32) -> UInt32 { line.deadline(now: at(now)) }

@c(line_write)
public func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
  line.write(Span(_unsafeStart: bytes, count: count))
}

@c(line_read)
public func read(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
  var target = MutableSpan(_unsafeStart: bytes, count: count)
  return line.read(into: &target, from: 0, atMost: count)
}

@c(line_ended)
public func hasEnded() -> Bool { line.hasEnded() }

@c(line_finish)
public func finish() { line.finish() }

@c(line_leave)
public func leave(_ now: UInt32) { line.leave(now: at(now)) }

@c(line_lost)
public func lose(_ now: UInt32) { line.lose(now: at(now)) }

@c(line_back)
public func comeBack(_ now: UInt32) { line.comeBack(now: at(now)) }
