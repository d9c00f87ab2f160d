// A server as in a program, with a service that calls each function, for embedded/sizes.

nonisolated(unsafe) private var server = Server()
nonisolated(unsafe) private var service = EveryFunction()

private struct EveryFunction: Service, ~Copyable {
  private static var page: StaticString { "page" }
  private static var text: StaticString { "text" }

  static func wants(_ name: Span<UInt8>) -> Bool { name.count == 4 }

  mutating func handle(_ event: Event, of server: inout Server) -> Int {
    switch event {
    case .request: server.answer(200, type: "text/html", with: Self.page.utf8Start, count: 4)
    case .body: return server.withBody { $0.count }
    case .end: return server.begin(200, length: Server.unknownLength) ? 1 : 0
    case .room: return server.room() > 5 ? server.send(Self.text.bytes) : server.end() ? 1 : 0
    case .gone: return server.isAnswering() ? 1 : 0
    }
    return 0
  }
}

private func at(_ milliseconds: UInt32) -> Moment { Moment(milliseconds: milliseconds) }

@c(server_start)
public func startServer(_ random: UInt32, _ baud: UInt32, _ now: UInt32) {
  server.start(random: random, baud: baud, now: at(now))
}

@c(server_receive)
public func receiveServer(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ now: UInt32) {
  server.receive(Span(_unsafeStart: bytes, count: count), now: at(now), &service)
}

@c(server_output)
public func outputServer(_ now: UInt32) -> UnsafePointer<UInt8>? {
  guard server.output(now: at(now), &service) > 0 else { return nil }
  return server.withFrame { frame in frame.withUnsafeBufferPointer { $0.baseAddress } }
}

@c(server_run)
public func runServer(_ now: UInt32) { server.run(now: at(now), &service) }

@c(server_deadline)
public func deadlineServer(_ now: UInt32) -> UInt32 { server.deadline(now: at(now)) }

@c(server_select)
public func selectServer(_ number: Int) { server.select(number) }
