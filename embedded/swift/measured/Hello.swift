// The service of README.md.

struct Hello: Service {
  static func wants(_ name: Span<UInt8>) -> Bool { false }

  mutating func handle(_ event: Event, of server: inout Server) -> Int {
    if event == .body { return server.withBody { $0.count } }
    if event == .request, server.begin(200, type: "text/plain", length: 6) {
      let text: StaticString = "hello\n"
      _ = server.send(text.bytes)
    }
    return 0
  }
}
