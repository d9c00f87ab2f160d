/// A server of HTTP/1.1 (RFC 9110, RFC 9112) on one end of a line. It allocates no memory, and any received bytes are safe.
///
/// Without streams it serves one request at a time, and with them one in each stream of the session. The functions for requests are about
/// the current one: in a service that of the event, and elsewhere the one that `select` has chosen. A server does nothing until `start`. Its
/// initial value is all zeros, so a global variable takes no flash.
struct Server: ~Copyable {
  var requests: Sizes.Requests<Request> = .init(repeating: Request())
  var channel = Channel()
  /// The number of the current request.
  var number: UInt8 = 0
  /// The session that the requests belong to.
  var session: UInt8 = 0
  /// The piece that arrives: kind and stream, and bytes.
  var piece: UInt8 = 0
  var pieceLeft: UInt8 = 0
  /// The request that writes first.
  var turn: UInt8 = 0

  /// A length that is not known in advance.
  static var unknownLength: UInt32 { .max }

  var index: Int { Sizes.streams > 0 ? Int(number) : 0 }

  // MARK: - The main loop

  /// Begins, or begins again.
  /// - Parameters:
  ///   - random: another number at each start of the program (docs/firmware.md, "Seeding").
  ///   - baud: the line's rate; with 0 the driver sets the pace, and its queue must be short.
  mutating func start(random: UInt32, baud: UInt32, now: Moment) {
    for index in 0..<Sizes.requests {
      requests[index].reset()
      requests[index].number = UInt8(truncatingIfNeeded: index)
      requests[index].state = .over
      requests[index].input = .free
      requests[index].dropStaged()
    }
    session = 0
    number = 0
    channel.streams = 0
    channel.isCounting = false
    channel.line.start(.listening, random: random, baud: baud, now: now)
  }

  /// Takes bytes that arrived, and calls the service.
  mutating func receive<S: Service & ~Copyable>(_ bytes: Span<UInt8>, now: Moment, _ service: inout S) {
    var from = 0
    while from < bytes.count {
      let to = min(from &+ Sizes.staged, bytes.count)
      channel.line.receive(bytes.extracting(from..<to), now: now)
      serve(&service, now)
      from = to
    }
  }

  /// Runs the timers, calls the service, and makes the frame that is to be sent next. Call it when the UART has sent the frame before:
  /// after each other call and at the deadline. While the UART is busy call `run`.
  /// - Returns: how many bytes it has on the wire, 0 if there is none. `withFrame` has them.
  mutating func output<S: Service & ~Copyable>(now: Moment, _ service: inout S) -> Int {
    run(now: now, &service)
    return channel.line.output(now: now)
  }

  /// Calls a function with the frame that `output` has made. It stays at its place until the next `output`, so that DMA can send it.
  mutating func withFrame<Result>(_ use: (Span<UInt8>) -> Result) -> Result { channel.line.withFrame(use) }

  /// Runs the timers, and calls the service. Call it also if the service has something to send.
  mutating func run<S: Service & ~Copyable>(now: Moment, _ service: inout S) {
    channel.line.run(now: now)
    serve(&service, now)
  }

  /// The milliseconds until the next call of `output` or `run`, or `Line.never`.
  mutating func deadline(now: Moment) -> UInt32 { channel.line.deadline(now: now) }

  // MARK: - The current request

  mutating func select(_ number: Int) {
    precondition(number >= 0 && number < Sizes.requests)
    self.number = UInt8(truncatingIfNeeded: number)
  }

  /// The number of the current request among those that are served at once.
  var current: Int { index }

  /// How many requests the session serves at once: 1 if its client knows no streams.
  var atOnce: Int { max(Int(channel.streams), 1) }

  // Mutating, because a copy of all requests would be on the stack.
  mutating func method() -> Request.Method { requests[index].method }

  mutating func isAnswering() -> Bool { requests[index].isAnswering() }

  /// How many bytes `send` would take.
  mutating func room() -> Int { requests[index].room(&channel) }

  /// Calls a function with the bytes of the body that ``Event/body`` is about.
  mutating func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result { requests[index].withBody(use) }

  /// Begins an answer: then call `send`, at ``Event/room`` or at any time.
  /// - Parameters:
  ///   - type: for Content-Type; empty for none.
  ///   - fields: complete lines with "\r\n".
  /// - Returns: false if there is no request to answer, it is answered, or `type` and `fields` have more than 128 bytes. With streams also if
  ///   there is no room, because others write: then ``Event/room`` comes when there is.
  mutating func begin(_ status: UInt16, type: Span<UInt8>, length: UInt32, fields: Span<UInt8>) -> Bool {
    requests[index].begin(status, type: type, length: length, fields: fields, &channel)
  }

  mutating func begin(_ status: UInt16, type: StaticString = "", length: UInt32, fields: StaticString = "") -> Bool {
    begin(status, type: type.bytes, length: length, fields: fields.bytes)
  }

  /// Makes the kit send all of an answer that has begun by itself.
  /// - Parameter bytes: stay where they are until the answer is complete, for example in flash.
  mutating func sendBySelf(_ bytes: UnsafePointer<UInt8>) { requests[index].sendBySelf(bytes) }

  /// Sends bytes of the answer, as many as there is room for, and returns how many.
  mutating func send(_ bytes: Span<UInt8>) -> Int { requests[index].send(bytes, &channel) }

  /// The answer of unknown length is complete. Returns false if there is no room for its end yet: call it again at ``Event/room``.
  mutating func end() -> Bool { requests[index].end(&channel) }
}
