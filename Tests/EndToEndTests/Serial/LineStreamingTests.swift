import BywayLineEmulation
import TestPeers
import Testing

extension SerialEndToEnd {
  /// Bytes that a line must carry without waiting for more.
  @Suite("Streams on a serial line") struct LineStreamingTests {
    @Test("a WebSocket and server-sent events pass a serial line") func streams() async throws {
      let passage = try await SerialPassage(LineConfiguration(baud: 921_600))
      let host = try "\(passage.proxy.endpoint())"
      let socket = try await Script.http1.run(
        "websocket", host, "/websocket", "--host", host, "--pieces", "2", "--sizes", "0", "125", "126", "4096",
        as: WebSocketAnswer.self)
      #expect(socket.status == 101)
      #expect(socket.echoed == [0, 125, 126, 4096])
      // The origin pauses after the event. One that is held back until the next comes late.
      let events = try await Script.http1.run(
        "events", host, "/events?ms=3000&count=2", "--host", host, "--count", "1", as: EventsAnswer.self)
      #expect(events.count == 1 && events.slowest < 3, "\(events)")
      await passage.stop()
    }
  }
}
