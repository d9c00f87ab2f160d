import BywayHTTP2Session
import BywayHTTPWire
import NIOCore

/// A client and a server, joined by a link that delivers immediately, without a limit by default.
final class Pair {
  let client: HTTP2Session
  let server: HTTP2Session
  var now = NIODeadline.uptimeNanoseconds(0)
  /// The events of each side, oldest first.
  var toClient: [HTTP2Event] = []
  var toServer: [HTTP2Event] = []

  init(client: HTTP2Configuration = .defaults, server: HTTP2Configuration = .defaults) {
    self.client = HTTP2Session(role: .client, configuration: client, at: now)
    self.server = HTTP2Session(role: .server, configuration: server, at: now)
  }

  /// Carries bytes in both directions until neither side has more.
  func exchange(maximum: Int = 1 << 20) {
    while carry(from: client, to: server, maximum) + carry(from: server, to: client, maximum) > 0 {}
    collect()
  }

  /// Carries the output of one side in one piece.
  @discardableResult
  func carry(from source: HTTP2Session, to target: HTTP2Session, _ maximum: Int) -> Int {
    var bytes = ByteBuffer()
    source.nextTransmit(maximum: maximum, into: &bytes, at: now)
    target.receive(bytes, at: now)
    collect()
    return bytes.readableBytes
  }

  func collect() {
    while let event = client.nextEvent() { toClient.append(event) }
    while let event = server.nextEvent() { toServer.append(event) }
  }

  func takeClientEvents() -> [HTTP2Event] {
    defer { toClient = [] }
    return toClient
  }

  func takeServerEvents() -> [HTTP2Event] {
    defer { toServer = [] }
    return toServer
  }

  func advance(_ amount: TimeAmount) {
    now = now + amount
  }
}

extension FieldSection {
  static func get(_ path: String = "/", _ more: (String, String)...) -> FieldSection {
    request("GET", path, more)
  }

  static func post(_ path: String = "/", _ more: (String, String)...) -> FieldSection {
    request("POST", path, more)
  }

  static func request(_ method: String, _ path: String, _ more: [(String, String)] = []) -> FieldSection {
    var section: FieldSection = [":method": method, ":scheme": "http", ":authority": "device", ":path": path]
    for (name, value) in more { section.append(name: name, value: value) }
    return section
  }
}

extension [HTTP2Event] {
  /// Returns the body bytes of a stream, and whether it has ended.
  func body(of id: StreamID) -> (bytes: ByteBuffer, isComplete: Bool) {
    var bytes = ByteBuffer()
    var isComplete = false
    for event in self {
      switch event {
      case .data(id, let slice, let endStream):
        bytes.writeImmutableBuffer(slice)
        isComplete = isComplete || endStream
      case .trailers(id, _), .head(id, _, endStream: true):
        isComplete = true
      default: break
      }
    }
    return (bytes, isComplete)
  }

  var failure: HTTP2Failure? {
    for case .failed(let failure) in self { return failure }
    return nil
  }

  func closed(_ id: StreamID) -> HTTP2ErrorCode? {
    for case .closed(id, let code, _) in self { return code }
    return nil
  }

  var heads: [StreamID] {
    compactMap { if case .head(let id, _, _) = $0 { id } else { nil } }
  }
}
