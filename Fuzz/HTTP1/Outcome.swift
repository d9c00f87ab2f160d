package import BywayHTTP1Session
package import BywayHTTPWire
import NIOCore

/// The result of a parser for some input, in a form that does not depend on how the input was cut.
package struct Outcome: Equatable, CustomStringConvertible {
  package enum Event: Equatable {
    case informational(FieldSection)
    case response(FieldSection, BodyFraming, keepAlive: Bool)
    case upgraded(FieldSection)
    case request(FieldSection, BodyFraming, keepAlive: Bool)
    case body([UInt8])
    case end(FieldSection?)
  }

  package var events: [Event] = []
  package var failure: HTTP1Failure?

  package init(events: [Event] = [], failure: HTTP1Failure? = nil) {
    self.events = events
    self.failure = failure
  }

  /// Compares without the messages of failures, because these quote the bytes received so far.
  package static func == (left: Self, right: Self) -> Bool {
    left.events == right.events && left.failure?.code == right.failure?.code
      && left.failure?.status == right.failure?.status
  }

  package var description: String { "\(events) \(failure.map(String.init(describing:)) ?? "")" }

  package var body: String {
    var bytes: [UInt8] = []
    for case .body(let more) in events { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the last thing read was the end of a message.
  package var isComplete: Bool {
    if case .end = events.last { failure == nil } else { false }
  }

  fileprivate mutating func append(_ event: Event) {
    if case .body(let more) = event, case .body(let bytes) = events.last {
      events[events.count - 1] = .body(bytes + more)
    } else {
      events.append(event)
    }
  }
}

/// Returns the bytes of a text, one for each character up to U+00FF, so that a test can write any byte.
package func bytes(_ text: String) -> [UInt8] {
  text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
}

/// Reads one response that arrives in these pieces.
package func readResponse(
  _ pieces: [[UInt8]], to request: RequestKind = .ordinary, closed: Bool = false,
  configuration: HTTP1Configuration = .defaults
) -> Outcome {
  var parser = ResponseParser(configuration: configuration)
  parser.begin(request)
  return read(pieces, closed: closed, receive: { parser.receive($0) }, receiveEnd: { parser.receiveEnd() }) {
    () throws(HTTP1Failure) in
    switch try parser.nextEvent() {
    case nil: nil
    case .informational(let fields): .informational(fields)
    case .head(let head): .response(head.fields, head.framing, keepAlive: head.keepAlive)
    case .upgraded(let head): .upgraded(head.fields)
    case .body(let bytes): .body(Array(bytes.readableBytesView))
    case .end(let trailers): .end(trailers)
    }
  }
}

package func readResponse(_ text: String, to request: RequestKind = .ordinary, closed: Bool = false) -> Outcome {
  readResponse([bytes(text)], to: request, closed: closed)
}

/// Reads the requests that arrive in these pieces.
package func readRequests(
  _ pieces: [[UInt8]], closed: Bool = false, configuration: HTTP1Configuration = .defaults
) -> Outcome {
  var parser = RequestParser(configuration: configuration)
  return read(pieces, closed: closed, receive: { parser.receive($0) }, receiveEnd: { parser.receiveEnd() }) {
    () throws(HTTP1Failure) in
    switch try parser.nextEvent() {
    case nil: nil
    case .head(let head): .request(head.fields, head.framing, keepAlive: head.keepAlive)
    case .body(let bytes): .body(Array(bytes.readableBytesView))
    case .end(let trailers): .end(trailers)
    }
  }
}

package func readRequests(_ text: String, closed: Bool = false) -> Outcome {
  readRequests([bytes(text)], closed: closed)
}

/// Returns the head of the only request in the text.
package func readRequestHead(_ text: String) throws -> RequestHead? {
  var parser = RequestParser()
  parser.receive(ByteBuffer(bytes: bytes(text)))
  if case .head(let head) = try parser.nextEvent() { return head }
  return nil
}

/// Returns the head of the response in the text, without informational responses.
package func readResponseHead(_ text: String, to request: RequestKind = .ordinary) throws -> ResponseHead? {
  var parser = ResponseParser()
  parser.begin(request)
  parser.receive(ByteBuffer(bytes: bytes(text)))
  while let event = try parser.nextEvent() {
    switch event {
    case .head(let head), .upgraded(let head): return head
    default: continue
    }
  }
  return nil
}

private func read(
  _ pieces: [[UInt8]], closed: Bool, receive: (ByteBuffer) -> Void, receiveEnd: () -> Void,
  next: () throws(HTTP1Failure) -> Outcome.Event?
) -> Outcome {
  var outcome = Outcome()
  do throws(HTTP1Failure) {
    for piece in pieces {
      receive(ByteBuffer(bytes: piece))
      while let event = try next() { outcome.append(event) }
    }
    if closed {
      receiveEnd()
      while let event = try next() { outcome.append(event) }
    }
  } catch {
    outcome.failure = error
  }
  return outcome
}
