import TestPeers
import Testing

extension Interop {
  /// Bytes that must be forwarded without waiting for more.
  @Suite("Streaming") struct StreamingTests {
    @Test("a server-sent event arrives within 50 ms", arguments: LinkKind.allCases)
    func events(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      var slowest = Double.infinity
      // Other suites use the processor too: one fast run of three proves that events are not held back.
      for _ in 0..<3 where slowest > 0.05 {
        let answer = try await Script.http1.run(
          "events", passage.host, "/events?ms=60&count=8", "--host", passage.host, "--count", "8", as: EventsAnswer.self
        )
        #expect(answer.count == 8)
        slowest = min(slowest, answer.slowest)
      }
      #expect(slowest <= 0.05)
      await passage.stop()
    }

    @Test("a WebSocket echoes messages up to 70,000 bytes", arguments: LinkKind.allCases)
    func webSocket(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      for target in ["/websocket", "/websocket?fragment=1"] {
        let answer = try await Script.http1.run(
          "websocket", passage.host, target, "--host", passage.host, "--pieces", "2", as: WebSocketAnswer.self)
        #expect(answer.status == 101)
        #expect(answer.echoed == [0, 5, 125, 126, 65535, 65536, 70000])
      }
      await passage.stop()
    }

    @Test("a WebSocket that the origin refuses is refused") func refusedWebSocket() async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Script.http1.run(
        "websocket", passage.host, "/", "--host", passage.host, as: WebSocketAnswer.self)
      #expect(answer.status == 502)
      await passage.stop()
    }

    @Test("200 concurrent requests get their own responses", arguments: LinkKind.allCases)
    func burst(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Script.http1.run(
        "burst", passage.host, "/slow-head?ms=50", "--host", passage.host, "--count", "200", as: BurstAnswer.self)
      #expect(answer.answers == 200)
      #expect(answer.statuses == [200])
      #expect(answer.bodies == 1)
      await passage.stop()
    }

    @Test("a small response does not wait for a large one", arguments: LinkKind.allCases)
    func overtaking(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let bulk = try Script.http1.start(
        "crawl", passage.host, "/bytes?size=\(1 << 30)", "--host", passage.host, "--ms", "30000")
      let small = try await Curl.fetch(passage.url + "/", within: .seconds(10))
      #expect(small.text == "hello, byway\n")
      await bulk.stop()
      await passage.stop()
    }
  }
}
