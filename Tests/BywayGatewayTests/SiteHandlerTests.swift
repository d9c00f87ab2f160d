import Byway
import BywayHTTPWire
import NIOCore
import Testing

@testable import BywayGateway

/// The handler in front of an origin that receives its own name.
@Suite("Exchanges of an origin with its own name") struct SiteHandlerTests {
  private let origin = RecordingHandler()
  private let client = RecordingSink()
  private let handler: SiteHandler

  init() throws {
    handler = SiteHandler(SiteName(scheme: "http", try Authority("127.0.0.1:631")), before: origin)
  }

  private func begin(_ fields: FieldSection) throws -> any ResponseSink {
    _ = handler.begin(ExchangeHead(fields: fields, isComplete: true), respondingTo: client)
    return try #require(origin.sink)
  }

  @Test("a response reaches the client complete, with every head translated")
  func forwards() throws {
    let sink = try begin([":method": "GET", ":scheme": "http", ":authority": "printer.localhost"])
    #expect(origin.fields?.value(of: .authority) == "127.0.0.1:631")
    sink.informational([":status": "103", "link": "<http://127.0.0.1:631/a>"])
    sink.didConsumeRequest(7)
    #expect(!sink.replayRequest())
    client.canReplay = true
    #expect(sink.replayRequest())
    sink.head([":status": "201", "location": "http://127.0.0.1:631/b"], isComplete: false)
    sink.write(ByteBuffer(string: "http://127.0.0.1:631/"))
    sink.finish(trailers: ["x": "y"])
    sink.fail(BywayError(.originLost, "gone", processing: .none))
    #expect(
      client.calls == [
        "informational :status: 103\nlink: <http://printer.localhost/a>", "consumed 7", "replay", "replay",
        "head :status: 201\nlocation: http://printer.localhost/b false", "write http://127.0.0.1:631/", "finish x: y",
        "fail gone",
      ])
  }

  @Test("a response head that ends the response stays marked as complete")
  func completeHead() throws {
    try begin([":method": "GET", ":scheme": "http", ":authority": "printer.localhost"]).head(
      [":status": "204"], isComplete: true)
    #expect(client.calls == ["head :status: 204 true"])
  }

  @Test("a response is not translated if the request has no host or the origin's own name")
  func untranslated() throws {
    for fields: FieldSection in [
      [":method": "GET", ":scheme": "http"], [":method": "GET", ":scheme": "http", ":authority": "127.0.0.1:631"],
    ] {
      let sink = try begin(fields)
      #expect(origin.fields?.value(of: .authority) == "127.0.0.1:631")
      #expect(sink === client)
    }
  }
}

private final class RecordingHandler: ExchangeHandler {
  var fields: FieldSection?
  var sink: (any ResponseSink)?

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    fields = request.fields
    self.sink = sink
    return Unread()
  }

  private final class Unread: RequestSink {
    func write(_ bytes: ByteBuffer) {}
    func finish(trailers: FieldSection?) {}
    func cancel(_ reason: BywayError) {}
    func didConsumeResponse(_ bytes: Int) {}
  }
}

private final class RecordingSink: ResponseSink {
  var calls: [String] = []
  var canReplay = false

  func informational(_ head: FieldSection) { calls.append("informational \(head)") }
  func head(_ head: FieldSection, isComplete: Bool) { calls.append("head \(head) \(isComplete)") }
  func write(_ bytes: ByteBuffer) { calls.append("write \(String(buffer: bytes))") }
  func finish(trailers: FieldSection?) { calls.append("finish \(trailers ?? [:])") }
  func fail(_ error: BywayError) { calls.append("fail \(error.message)") }
  func didConsumeRequest(_ bytes: Int) { calls.append("consumed \(bytes)") }

  func replayRequest() -> Bool {
    calls.append("replay")
    return canReplay
  }
}
