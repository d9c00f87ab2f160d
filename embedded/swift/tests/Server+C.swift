// The server for the tests in C. swift_server.c gives it the interface of embedded/c/byway.h.

/// A service in C. The tests have one at a time.
private struct ForeignService: Service, ~Copyable {
  typealias Wants = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  typealias Handle = @convention(c) (CInt, UnsafePointer<UInt8>?, Int) -> Int

  nonisolated(unsafe) static var wantsField: Wants?
  nonisolated(unsafe) static var handleEvent: Handle?

  static func wants(_ name: Span<UInt8>) -> Bool {
    name.withUnsafeBufferPointer { wantsField?($0.baseAddress, $0.count) != 0 }
  }

  mutating func handle(_ event: Event, of server: inout Server) -> Int {
    guard let handle = Self.handleEvent else { return 0 }
    guard event == .body else { return handle(CInt(event.rawValue), nil, 0) }
    let body = server.withBody { bytes in bytes.withUnsafeBufferPointer { $0 } }
    return handle(CInt(event.rawValue), body.baseAddress, body.count)
  }
}

@c(swift_server_size)
public func serverSize() -> Int { MemoryLayout<Server>.size }

@c(swift_server_start)
public func startServer(
  _ server: UnsafeMutableRawPointer, _ wants: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt,
  _ handle: @convention(c) (CInt, UnsafePointer<UInt8>?, Int) -> Int, _ random: UInt32, _ baud: UInt32, _ now: UInt32
) {
  ForeignService.wantsField = wants
  ForeignService.handleEvent = handle
  let server = server.bindMemory(to: Server.self, capacity: 1)
  server.initialize(to: Server())
  server.pointee.start(random: random, baud: baud, now: Moment(milliseconds: now))
}

@c(swift_server_receive)
public func serverReceives(
  _ server: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>?, _ count: Int, _ now: UInt32
) {
  var service = ForeignService()
  at(server).pointee.receive(span(bytes, count), now: Moment(milliseconds: now), &service)
}

@c(swift_server_run)
public func runServer(_ server: UnsafeMutableRawPointer, _ now: UInt32) {
  var service = ForeignService()
  at(server).pointee.run(now: Moment(milliseconds: now), &service)
}

@c(swift_server_output)
public func serverOutput(
  _ server: UnsafeMutableRawPointer, _ now: UInt32, _ bytes: UnsafeMutablePointer<UnsafePointer<UInt8>?>
) -> Int {
  var service = ForeignService()
  let count = at(server).pointee.output(now: Moment(milliseconds: now), &service)
  bytes.pointee = at(server).pointee.withFrame { $0.withUnsafeBufferPointer { $0.baseAddress } }
  return count
}

@c(swift_server_deadline)
public func serverDeadline(_ server: UnsafeMutableRawPointer, _ now: UInt32) -> UInt32 {
  at(server).pointee.deadline(now: Moment(milliseconds: now))
}

@c(swift_server_select)
public func select(_ server: UnsafeMutableRawPointer, _ number: Int) { at(server).pointee.select(number) }

@c(swift_server_begin)
public func begin(
  _ server: UnsafeMutableRawPointer, _ status: UInt16, _ type: UnsafePointer<UInt8>?, _ typeCount: Int,
  _ length: UInt32, _ fields: UnsafePointer<UInt8>?, _ fieldCount: Int
) -> CInt {
  let type = span(type, typeCount)
  return at(server).pointee.begin(status, type: type, length: length, fields: span(fields, fieldCount)) ? 1 : 0
}

@c(swift_server_send_static)
public func sendStatic(_ server: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>) {
  at(server).pointee.sendStatic(bytes)
}

@c(swift_server_send)
public func send(_ server: UnsafeMutableRawPointer, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
  at(server).pointee.send(span(bytes, count))
}

@c(swift_server_room)
public func serverRoom(_ server: UnsafeMutableRawPointer) -> Int { at(server).pointee.room() }

@c(swift_server_end)
public func end(_ server: UnsafeMutableRawPointer) -> CInt { at(server).pointee.end() ? 1 : 0 }

@c(swift_server_answering)
public func isAnswering(_ server: UnsafeMutableRawPointer) -> CInt { at(server).pointee.isAnswering() ? 1 : 0 }

@c(swift_server_set_peer_credit)
public func setPeerCredit(_ server: UnsafeMutableRawPointer, _ credit: UInt8) {
  at(server).pointee.changePeerCredit(credit)
}

/// Copies the state that the tests check. swift_server.c has the order.
@c(swift_server_view)
public func view(_ server: UnsafeMutableRawPointer, _ values: UnsafeMutablePointer<UInt32>) {
  var values = Values(next: values)
  at(server).pointee.view(&values)
}

/// Copies the head of a request. Returns its address.
@c(swift_server_head)
public func head(_ server: UnsafeMutableRawPointer, _ number: Int) -> UnsafePointer<UInt8>? {
  at(server).pointee.requests[number].headBytes()
}

struct Values {
  fileprivate var next: UnsafeMutablePointer<UInt32>

  mutating func add(_ value: some BinaryInteger) {
    next.pointee = UInt32(truncatingIfNeeded: value)
    next += 1
  }
}

extension Request {
  fileprivate mutating func headBytes() -> UnsafePointer<UInt8>? {
    head.span.withUnsafeBufferPointer { $0.baseAddress }
  }
}

extension Server {
  fileprivate mutating func changePeerCredit(_ credit: UInt8) { channel.line.session.peerCredit = credit }

  fileprivate mutating func view(_ values: inout Values) {
    values.add(number)
    values.add(channel.streams)
    for index in 0..<Sizes.requests {
      values.add(requests[index].method.rawValue)
      values.add(requests[index].answer.rawValue)
      values.add(requests[index].input.rawValue)
      values.add(requests[index].granted)
      values.add(requests[index].stagedFrom)
      values.add(requests[index].stagedTo)
      values.add(requests[index].headCount)
    }
    values.add(channel.line.runCount)
    values.add(channel.line.corrected.count)
    values.add(channel.line.corrected.header.length)
    channel.line.session.view(&values)
  }
}

extension Session {
  fileprivate mutating func view(_ values: inout Values) {
    values.add(state.rawValue)
    values.add(reason.rawValue)
    values.add(sessions)
    values.add(session)
    values.add(incarnation)
    values.add(seal)
    values.add(roundTrip.token)
    values.add(streams)
    values.add(peerCredit)
    values.add(sending.isFinishing ? 1 : 0)
    values.add(sending.first.value)
    values.add(sending.sent.value)
    values.add(sending.end.value)
    values.add(sending.room())
    values.add(receiving.read.value)
    values.add(receiving.next.value)
    values.add(receiving.high.value)
    for index in 0..<16 { values.add(ended.sessions[index]) }
  }
}

private func at(_ server: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Server> {
  server.assumingMemoryBound(to: Server.self)
}
