import BywayHTTP2Session
import BywayHTTPWire
import NIOCore

/// A client that sends raw frames to a server session. The server responds to each complete request with five bytes.
final class RawClient {
  let server: HTTP2Session
  var now = NIODeadline.uptimeNanoseconds(0)
  /// Frames from the server, oldest first.
  private(set) var frames: [RawFrame] = []
  private(set) var events: [HTTP2Event] = []
  /// Whether requests get a response.
  var answers = true

  static let magic = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  init(_ configuration: HTTP2Configuration = .defaults, settings: [(UInt16, UInt32)] = [], handshake: Bool = true) {
    server = HTTP2Session(role: .server, configuration: configuration, at: now)
    guard handshake else { return }
    send(bytes: Self.magic + RawFrame.settings(settings).bytes + RawFrame.settingsAck.bytes)
    frames = []
  }

  func send(_ frames: RawFrame...) {
    send(frames)
  }

  /// Sends frames one at a time, so that the server's answer to one is sent before the next arrives.
  func send(_ frames: [RawFrame]) {
    for frame in frames { send(bytes: frame.bytes) }
  }

  func send(bytes: [UInt8]) {
    server.receive(ByteBuffer(bytes: bytes), at: now)
    turn()
  }

  /// Runs the server's owner, and collects its output.
  func turn() {
    var output = ByteBuffer()
    repeat {
      while let event = server.nextEvent() {
        events.append(event)
        if answers { answer(event) }
      }
      output.clear()
      server.nextTransmit(maximum: 1 << 20, into: &output, at: now)
      frames += RawFrame.parse(output)
    } while output.readableBytes > 0
    while let event = server.nextEvent() { events.append(event) }
  }

  private func answer(_ event: HTTP2Event) {
    switch event {
    case .head(let id, _, endStream: true), .data(let id, _, endStream: true), .trailers(let id, _):
      server.submitResponse(id, [":status": "200"], endStream: false)
      server.write(id, ByteBuffer(string: "hello"))
      server.finish(id)
    default: break
    }
    if case .data(let id, let bytes, _) = event { server.consume(id, bytes: bytes.readableBytes) }
  }

  func takeFrames() -> [RawFrame] {
    defer { frames = [] }
    return frames
  }

  /// The code of the GOAWAY that ended the session.
  var connectionError: HTTP2ErrorCode? {
    frames.last { $0.type == 7 }?.errorCode.map(HTTP2ErrorCode.init(rawValue:))
  }

  func streamError(_ id: UInt32) -> HTTP2ErrorCode? {
    frames.first { $0.type == 3 && $0.id == id }?.errorCode.map(HTTP2ErrorCode.init(rawValue:))
  }

  func isAnswered(_ id: UInt32) -> Bool {
    frames.contains { $0.id == id && $0.type <= 1 && $0.flags & RawFrame.endStream != 0 }
  }

  /// Whether the session still serves, tested by a PING.
  var isAlive: Bool {
    send(.ping(0x77))
    return frames.contains(.ping(0x77, flags: RawFrame.ack))
  }
}
