import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import Synchronization
import TestTools
import Testing

@testable import Byway
@testable import BywayInspector

/// The limits of actions, the settings of an emulated line, and the reasons for refusals.
@Suite("Limits of actions in the inspector", .timeLimit(.minutes(1))) struct ActingLimitTests {
  private final class Line: InspectedLine {
    let errorRates = ["none", "high"]
    private let state = Mutex((isPulled: false, rate: "none"))

    var isPulled: Bool { state.withLock(\.isPulled) }
    var errorRate: String { state.withLock(\.rate) }
    func setPulled(_ isPulled: Bool) { state.withLock { $0.isPulled = isPulled } }

    func setErrorRate(_ name: String) -> Bool {
      guard errorRates.contains(name) else { return false }
      state.withLock { $0.rate = name }
      return true
    }
  }

  private func feed(
    _ line: (any InspectedLine)? = nil, of inspector: Inspector = Inspector(bodyLimit: 100), send: Resending.Send? = nil
  ) -> InspectorFeed {
    InspectorFeed(inspector, InspectorActions(send: send, rules: InspectorRules(of: inspector), line: line))
  }

  private func post(_ feed: InspectorFeed, _ path: String, _ text: String) async throws -> (status: Int, text: String) {
    var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost:4040", path: path)
    head.headerFields[try #require(HTTPField.Name("byway-token"))] = feed.token
    let response = try await feed.respond(to: Request(head, body: Body(text)))
    return (response.status.code, String(buffer: try await response.body.collect(upTo: 1 << 20)))
  }

  private func padded(_ text: String, to count: Int) -> String {
    text + String(repeating: " ", count: count - text.utf8.count)
  }

  @Test(
    "the JSON of an action is read up to its limit, and with one byte more it is refused",
    arguments: [
      ("/api/line", #"{"pulled":true}"#, 4096), ("/api/faults", #"{"cut":1}"#, 128 << 10),
      ("/api/breakpoints", #"{"on":"request"}"#, 128 << 10),
    ])
  func limits(_ path: String, _ text: String, _ limit: Int) async throws {
    let line = Line()
    let feed = feed(line)
    #expect(try await post(feed, path, padded(text, to: limit + 1)).status == 413)
    let rules = try #require(feed.actions.rules)
    #expect(!line.isPulled && !rules.isNeeded)
    #expect(try await post(feed, path, padded(text, to: limit)).status == 200)
    #expect(line.isPulled || rules.isNeeded)
  }

  @Test("each setting of a line changes by itself, and an unknown error rate changes nothing")
  func line() async throws {
    let line = Line()
    let feed = feed(line)
    for (text, isPulled, rate) in [
      (#"{"errors":"high"}"#, false, "high"), (#"{"pulled":true}"#, true, "high"), (#"{"pulled":1}"#, true, "high"),
      (#"{"errors":"none","pulled":false}"#, false, "none"), ("{}", false, "none"), ("", false, "none"),
    ] {
      let answer = try await post(feed, "/api/line", text)
      let shown = JSON(parsing: answer.text)?["line"]
      #expect(answer.status == 200 && line.isPulled == isPulled && line.errorRate == rate, "\(text)")
      #expect(shown?["pulled"] == .bool(isPulled) && shown?["errors"]?.text == rate)
      #expect(shown?["rates"] == ["none", "high"])
    }
    let refused = try await post(feed, "/api/line", #"{"errors":"some","pulled":true}"#)
    #expect(refused.status == 400 && refused.text.contains("none, high") && !line.isPulled)
    #expect(try await post(feed, "/api/line/x", "{}").status == 404)
  }

  @Test("the JSON of an edit is read up to 8.25 MiB, and with one byte more it is refused")
  func edit() async throws {
    let feed = feed()
    let limit = (8 << 20) + (256 << 10)
    #expect(try await post(feed, "/api/paused/1/drop", String(repeating: " ", count: limit + 1)).status == 413)
    // It is read, and there is no such pause.
    #expect(try await post(feed, "/api/paused/1/drop", String(repeating: " ", count: limit)).status == 404)
  }

  @Test(
    "each kind of refusal has its status",
    arguments: [
      (BywayError.Code.refused, 503), (.invalidRequest, 400), (.timedOut, 408), (.tooLarge, 413), (.unsupported, 409),
    ])
  func refusals(_ code: BywayError.Code, _ status: Int) async throws {
    let response = InspectorFeed.refusal(BywayError(code, "The reason.", processing: .none))
    #expect(response.status.code == status)
    #expect(String(buffer: try await response.body.collect(upTo: 100)) == "The reason.\n")
  }

  @Test("the token in the path counts for the stream of events only", arguments: ["/api/har", "/api/recording"])
  func tokenInPath(_ path: String) async throws {
    let feed = feed()
    func status(_ method: HTTPRequest.Method, _ path: String) async throws -> Int {
      let head = HTTPRequest(method: method, scheme: "http", authority: "localhost:4040", path: path)
      return try await feed.respond(to: Request(head)).status.code
    }
    #expect(try await status(.get, "\(path)?token=\(feed.token)") == 403)
    #expect(try await status(.post, "/api/clear?token=\(feed.token)") == 403)
    #expect(try await status(.post, "/api/events?token=\(feed.token)") == 403)
  }

  @Test("while 8 requests that were sent again run, further ones are refused with the reason")
  func resending() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    _ = try await house.client.get("http://localhost/").body.collect(upTo: 10)
    let (asked, asking) = AsyncStream.makeStream(of: Void.self)
    let feed = feed(of: house.feed.inspector) { _, _ in
      asking.yield()
      let (end, _) = AsyncStream.makeStream(of: Void.self)
      for await _ in end {}
      throw CancellationError()
    }
    let long = String(repeating: " ", count: (4 << 20) + 1)
    #expect(try await post(feed, "/api/exchanges/1/resend", long).status == 413)
    let sent = (1...8).map { _ in Task { try await post(feed, "/api/exchanges/1/resend", "") } }
    var count = 0
    for await _ in asked {
      count += 1
      if count == 8 { break }
    }
    let refused = try await post(feed, "/api/exchanges/1/resend", "")
    #expect(refused.status == 503 && refused.text.contains("8 requests"))
    for answer in sent { #expect(try await answer.value == (502, "It could not be sent.\n")) }
    await house.stop()
  }
}
