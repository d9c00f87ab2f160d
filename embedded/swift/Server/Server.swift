/// A server of HTTP/1.1 (RFC 9110, RFC 9112) at one end of a line. It allocates no memory, and received bytes may have any content.
///
/// Without streams it serves one request at a time, and with streams one in each of them. Functions about a request concern the current
/// one: the request of the event during a call of the service, and otherwise the one that `select` has chosen. A server does nothing before
/// `start`. Its initial value is all zeros, so a global variable takes no flash.
struct Server: ~Copyable {
  var requests: Sizes.Requests<Request> = .init(repeating: Request())
  var channel = Channel()
  /// The number of the current request.
  var number: UInt8 = 0
  /// The session of the requests.
  var session: UInt8 = 0
  /// The piece that is arriving: kind and stream, and its number of bytes.
  var piece: UInt8 = 0
  var pieceLeft: UInt8 = 0
  /// The request that writes first.
  var turn: UInt8 = 0

  /// The length of an answer whose length is not known in advance.
  static var unknownLength: UInt32 { .max }

  var index: Int { Sizes.streams > 0 ? Int(number) : 0 }

  // MARK: - The main loop

  /// Starts the server, or restarts it.
  /// - Parameters:
  /// - random: a new number at each start of the program (docs/firmware.md, "Seeding").
  /// - baud: the rate of the line; 0 if the driver sets the pace. Then the queue of the driver must be short.
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

  /// Takes received bytes, and calls the service.
  mutating func receive<S: Service & ~Copyable>(_ bytes: Span<UInt8>, now: Moment, _ service: inout S) {
    var from = 0
    while from < bytes.count {
      let to = min(from &+ Sizes.staged, bytes.count)
      channel.line.receive(bytes.extracting(from..<to), now: now)
      serve(&service, now)
      from = to
    }
  }

  /// Runs the timers, calls the service, and writes the next frame to send. Call it when the UART has sent the previous frame: after each
  /// other call and at the deadline. While the UART is busy, call `run`.
  /// - Returns: the bytes of the frame on the wire, 0 if there is none. `withFrame` gives access to it.
  mutating func output<S: Service & ~Copyable>(now: Moment, _ service: inout S) -> Int {
    run(now: now, &service)
    return channel.line.output(now: now)
  }

  /// Calls a function with the frame that `output` has written. The frame stays in place until the next `output`, so DMA can send it.
  mutating func withFrame<Result>(_ use: (Span<UInt8>) -> Result) -> Result { channel.line.withFrame(use) }

  /// Runs the timers, and calls the service. Call it also if the service has data to send.
  mutating func run<S: Service & ~Copyable>(now: Moment, _ service: inout S) {
    channel.line.run(now: now)
    serve(&service, now)
  }

  /// Returns the milliseconds until the next call of `output` or `run`, or `Line.never`.
  mutating func deadline(now: Moment) -> UInt32 { channel.line.deadline(now: now) }

  // MARK: - The current request

  mutating func select(_ number: Int) {
    precondition(number >= 0 && number < Sizes.requests)
    self.number = UInt8(truncatingIfNeeded: number)
  }

  /// The number of the current request among the concurrent ones.
  var current: Int { index }

  /// The number of concurrent requests of the session: 1 if the client does not use streams.
  var atOnce: Int { max(Int(channel.streams), 1) }

  // This is mutating, because a copy of all requests would be on the stack.
  mutating func method() -> Request.Method { requests[index].method }

  mutating func isAnswering() -> Bool { requests[index].isAnswering() }

  /// Returns how many bytes `send` would take.
  mutating func room() -> Int { requests[index].room(&channel) }

  /// Calls a function with the bytes of the body for ``Event/body``.
  mutating func withBody<Result>(_ use: (Span<UInt8>) -> Result) -> Result { requests[index].withBody(use) }

  /// Begins an answer. Then call `send`, at ``Event/room`` or at any time.
  /// - Parameters:
  /// - type: the value of Content-Type; empty for none.
  /// - fields: complete lines, each with "\r
  /// ".
  /// - Returns: false if there is no request to answer, if it is answered, or if `type` and `fields` have more than 128 bytes. With
  ///   streams, also if there is no room because others write. ``Event/room`` then comes later.
  mutating func begin(_ status: UInt16, type: Span<UInt8>, length: UInt32, fields: Span<UInt8>) -> Bool {
    requests[index].begin(status, type: type, length: length, fields: fields, &channel)
  }

  mutating func begin(_ status: UInt16, type: StaticString = "", length: UInt32, fields: StaticString = "") -> Bool {
    begin(status, type: type.bytes, length: length, fields: fields.bytes)
  }

  /// Sends a static body for an answer that has begun.
  /// - Parameter bytes: the body. It must stay in place until the answer is complete, for example in flash.
  mutating func sendStatic(_ bytes: UnsafePointer<UInt8>) { requests[index].sendStatic(bytes) }

  /// Sends bytes of the answer, as many as there is room for, and returns how many.
  mutating func send(_ bytes: Span<UInt8>) -> Int { requests[index].send(bytes, &channel) }

  /// Ends an answer of unknown length. Returns false if there is no room for its end yet: call it again at ``Event/room``.
  mutating func end() -> Bool { requests[index].end(&channel) }
}
