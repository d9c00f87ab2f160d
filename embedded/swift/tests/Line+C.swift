// The functions of embedded/c/byway_line.h, for the tests of both kits. c/byway_line.h gives them their names in C.

@c(swift_line_size)
public func lineSize() -> Int { MemoryLayout<Line>.size }

@c(swift_line_start)
public func start(_ line: UnsafeMutableRawPointer, _ role: CInt, _ random: UInt32, _ baud: UInt32, _ now: UInt32) {
  let line = line.bindMemory(to: Line.self, capacity: 1)
  line.initialize(to: Line())
  line.pointee.start(role == 0 ? .listening : .dialing, random: random, baud: baud, now: Moment(milliseconds: now))
}

@c(swift_line_open)
public func open(_ line: UnsafeMutableRawPointer, _ random: UInt32, _ now: UInt32) -> CInt {
  at(line).pointee.open(random: random, now: Moment(milliseconds: now)) ? 1 : 0
}

@c(swift_line_receive)
public func receive(_ line: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ now: UInt32) {
  at(line).pointee.receive(span(bytes, count), now: Moment(milliseconds: now))
}

@c(swift_line_output)
public func output(
  _ line: UnsafeMutableRawPointer, _ now: UInt32, _ bytes: UnsafeMutablePointer<UnsafePointer<UInt8>?>
) -> Int {
  let count = at(line).pointee.output(now: Moment(milliseconds: now))
  bytes.pointee = at(line).pointee.withFrame { $0.withUnsafeBufferPointer { $0.baseAddress } }
  return count
}

@c(swift_line_run)
public func run(_ line: UnsafeMutableRawPointer, _ now: UInt32) {
  at(line).pointee.run(now: Moment(milliseconds: now))
}

@c(swift_line_deadline)
public func deadline(_ line: UnsafeMutableRawPointer, _ now: UInt32) -> UInt32 {
  at(line).pointee.deadline(now: Moment(milliseconds: now))
}

@c(swift_line_write)
public func write(_ line: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
  at(line).pointee.write(span(bytes, count))
}

@c(swift_line_room)
public func room(_ line: UnsafeMutableRawPointer) -> Int { at(line).pointee.room() }

@c(swift_line_read)
public func read(_ line: UnsafeMutableRawPointer, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> Int {
  var target = MutableSpan(_unsafeElements: UnsafeMutableBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  return at(line).pointee.read(into: &target, from: 0, atMost: target.count)
}

@c(swift_line_ended)
public func hasEnded(_ line: UnsafeMutableRawPointer) -> CInt { at(line).pointee.session.receiving.isRead ? 1 : 0 }

@c(swift_line_finish)
public func finish(_ line: UnsafeMutableRawPointer) { at(line).pointee.finish() }

@c(swift_line_leave)
public func leave(_ line: UnsafeMutableRawPointer, _ now: UInt32) {
  at(line).pointee.leave(now: Moment(milliseconds: now))
}

@c(swift_line_abort)
public func abort(_ line: UnsafeMutableRawPointer) { at(line).pointee.abort() }

@c(swift_line_lost)
public func lose(_ line: UnsafeMutableRawPointer, _ now: UInt32) {
  at(line).pointee.lose(now: Moment(milliseconds: now))
}

@c(swift_line_back)
public func comeBack(_ line: UnsafeMutableRawPointer, _ now: UInt32) {
  at(line).pointee.comeBack(now: Moment(milliseconds: now))
}

@c(swift_line_state)
public func state(_ line: UnsafeMutableRawPointer) -> CInt { CInt(at(line).pointee.session.state.rawValue) }

@c(swift_line_reason)
public func reason(_ line: UnsafeMutableRawPointer) -> CInt { CInt(at(line).pointee.session.reason.rawValue) }

@c(swift_line_sessions)
public func sessions(_ line: UnsafeMutableRawPointer) -> UInt8 { at(line).pointee.session.sessions }

@c(swift_line_streams)
public func streams(_ line: UnsafeMutableRawPointer) -> CUnsignedInt { CUnsignedInt(at(line).pointee.session.streams) }

@c(swift_line_peer_credit)
public func peerCredit(_ line: UnsafeMutableRawPointer) -> CUnsignedInt {
  64 * CUnsignedInt(at(line).pointee.session.peerCredit)
}

@c(swift_line_unsent)
public func unsent(_ line: UnsafeMutableRawPointer) -> Int { at(line).pointee.session.sending.unsent }

private func at(_ line: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Line> {
  line.assumingMemoryBound(to: Line.self)
}

@_lifetime(immortal)
func span(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Span<UInt8> {
  let buffer = UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
  return _overrideLifetime(Span(_unsafeElements: buffer), copying: ())
}
