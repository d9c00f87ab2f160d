import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// Responses that are cut short, as a client of gRPC sees them over HTTP/2.
@Suite("gRPC calls that break off") final class CutCallTests {
  private let channel = EmbeddedChannel()
  private let handler = RecordingHandler()
  private let client: HTTP2Session
  private let server: HTTP2ServerConnection
  private var events: [String] = []

  init() throws {
    client = HTTP2Session(role: .client, configuration: .defaults, at: channel.eventLoop.now)
    try channel.connect(to: SocketAddress(unixDomainSocketPath: "/link")).wait()
    server = HTTP2ServerConnection.start(on: channel, handler: handler, configuration: .test)
  }

  deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

  /// Carries bytes in both directions until neither side has more.
  private func carry() throws {
    var isMoving = true
    while isMoving {
      isMoving = false
      channel.embeddedEventLoop.run()
      if let bytes = client.nextTransmit(maximum: 1 << 20, at: channel.eventLoop.now), bytes.readableBytes > 0 {
        try channel.writeInbound(bytes)
        isMoving = true
      }
      while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
        client.receive(bytes, at: channel.eventLoop.now)
        isMoving = true
      }
    }
    while let event = client.nextEvent() {
      switch event {
      case .head(_, let fields, let isLast): events.append("head \(fields.status ?? 0)\(isLast ? " last" : "")")
      case .data(_, let bytes, _): events.append("data \(String(buffer: bytes))")
      case .trailers(_, let fields): events += fields.text()
      case .closed(_, let code, _): events.append("closed \(code)")
      default: break
      }
    }
  }

  /// Begins a call whose response has begun, and fails it.
  private func call(
    _ type: String, answer: FieldSection, isOpen: Bool = false,
    _ error: BywayError = BywayError(.linkLost, "The link is gone.")
  ) throws -> [String] {
    _ = try client.submitRequest(
      [":method": "POST", ":scheme": "http", ":authority": "h", ":path": "/s/m", "content-type": "\(type)"],
      endStream: !isOpen)
    try carry()
    let sink = try #require(handler.sinks.last)
    sink.head(answer, isComplete: false)
    sink.write(ByteBuffer(string: "part"))
    sink.fail(error)
    try carry()
    return events
  }

  @Test(
    "a gRPC call ends with a status in trailers when its link is lost after the response has begun",
    arguments: ["application/grpc", "application/grpc+proto"], [true, false])
  func lost(_ type: String, _ isOpen: Bool) throws {
    let answer: FieldSection = [":status": "200", "content-type": "\(type)"]
    #expect(
      try call(type, answer: answer, isOpen: isOpen) == [
        "head 200", "data part", "grpc-status: 14", "grpc-message: The link is gone.",
        "proxy-status: hop; error=connection_terminated; details=\"The link is gone.\"", "closed NO_ERROR",
      ])
    #expect(server.runningExchanges == 0)
  }

  @Test("the status of a gRPC call that breaks off tells the cause")
  func causes() throws {
    let answer: FieldSection = [":status": "200", "content-type": "application/grpc"]
    let late = try call("application/grpc", answer: answer, BywayError(.timedOut, "Late."))
    #expect(late.contains("grpc-status: 4") && late.contains("grpc-message: Late."))
  }

  @Test(
    "a response that breaks off is reset if the request or the response is not gRPC",
    arguments: [
      ("application/json", [":status": "200", "content-type": "application/json"]),
      ("application/json", [":status": "200", "content-type": "application/grpc"]),
      ("application/grpc", [":status": "200", "content-type": "text/html"]),
      ("application/grpc-web", [":status": "200", "content-type": "application/grpc-web"]),
    ] as [(String, FieldSection)])
  func others(_ type: String, _ answer: FieldSection) throws {
    let events = try call(type, answer: answer)
    #expect(events.last == "closed INTERNAL_ERROR" && !events.contains { $0.hasPrefix("grpc-status") })
  }

  @Test("a gRPC call that fails before its response has begun gets the status in its only head")
  func early() throws {
    _ = try client.submitRequest(
      [
        ":method": "POST", ":scheme": "http", ":authority": "h", ":path": "/s/m", "content-type": "application/grpc",
      ], endStream: true)
    try carry()
    let sink = try #require(handler.sinks.last)
    sink.fail(BywayError(.linkLost, "The link is gone."))
    try carry()
    #expect(events == ["head 200 last", "closed NO_ERROR"])
  }
}
