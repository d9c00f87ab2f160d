import Byway
import BywayDevices
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import Synchronization
import TestPeers
import TestTools
import TestWire
import Testing

@testable import BywayProxy

/// Boards with HTTP/1.1 that dial a hub.
extension HubTests {
  /// Combining accents, which are all part of one character.
  private static func marks(_ count: Int) -> String { String(repeating: "\u{301}", count: count) }

  private func fresh() -> String { "loopback:hub-\(UInt64.random(in: 0 ... .max))" }

  /// Dials a hub for boards, and waits for its answer.
  private func board(
    _ hub: String, _ greeting: String, pieces: Int = 1, incarnation: UInt32 = 7, says text: String = "the board",
    continuing former: Board? = nil
  ) async throws -> Board {
    let board = try await Board.dial(
      transports.link(hub), greeting, pieces: pieces, incarnation: incarnation, says: text, continuing: former)
    _ = Ending { await board.hangUp() }
    #expect(
      try await eventually {
        let state = try await board.state
        return state.isAccepted || state.said.hasSuffix("\n")
      })
    return board
  }

  private func serves(_ text: String, _ proxy: Proxy) async throws -> Bool {
    try await eventually { try await get("printer", of: proxy) == text }
  }

  @Test("a board that dials a hub with http=1.1 is a device under its name while it is connected")
  func boards() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"]))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    let printer = try await board(hub, Board.greeting("Printer", 7))
    #expect(try await get("printer", of: proxy) == "200 the board")
    let state = try #require(await proxy.devices().first?.status.state)
    guard case .open = state else { return #expect(Bool(false), "\(state)") }
    #expect(await proxy.hubs().first?.gateways == 1)
    await printer.hangUp()
    #expect(try await eventually { await proxy.hubs().first?.gateways == 0 })
    #expect(await proxy.devices().map(\.name?.text) == ["printer"])
  }

  @Test("a board without a session is listed as away at once, and its requests get 503")
  func boardAway() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"]))
    let printer = try await board(hub, Board.greeting("printer", 7))
    await printer.hangUp()
    #expect(try await eventually { await proxy.devices().first?.status.lastSeen != nil })
    let answer = try await get("printer", of: proxy)
    #expect(answer.hasPrefix("503") && answer.contains("No board has dialed as printer"), "\(answer)")
  }

  @Test("a greeting may come in pieces, and the line begins right behind it", arguments: [2, 100])
  func greetingInPieces(pieces: Int) async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"]))
    _ = try await board(hub, Board.greeting("printer", 7) + "\u{0}\u{1}\u{0}", pieces: pieces)
    #expect(try await get("printer", of: proxy) == "200 the board")
  }

  @Test(
    "a peer that does not begin as a board does, or with an unusable name, is told why",
    arguments: [
      ("GET / HTTP/1.1\r\n", "does not begin as byway-mini does"),
      ("\n", "does not begin as byway-mini does"),
      (String(repeating: "x", count: 257), "does not begin as byway-mini does"),
      ("byway-line 2 " + String(repeating: "x", count: 244) + "\n", "does not begin as byway-mini does"),
      ("byway-line 2e\(Self.marks(50)) printer 00000007\n", "begins with version '2e\(Self.marks(6))', which"),
      ("byway-line 2 printer 00000007\n", "begins with version '2', which is unknown here"),
      ("byway-line 1 printer 00000000\n", "does not begin as byway-mini does"),
      ("byway-line 1 printer 7\n", "does not begin as byway-mini does"),
      ("byway-line 1 printer 0000000g\n", "does not begin as byway-mini does"),
      ("byway-line 1 printer +0000007\n", "does not begin as byway-mini does"),
      ("byway-line 1 printer 00000007 more\n", "does not begin as byway-mini does"),
      ("byway-line 1  00000007\n", "claims no name"),
      ("byway-line 1 -printer 00000007\n", "claims '-printer', which is not the name of a device"),
      ("byway-line 1 xn--e1afmkfd 00000007\n", "is not allowed"),
      ("byway-line 1 byway 00000007\n", "is the name of the list of devices"),
      ("byway-line 1 other 00000007\n", "but the hub's configuration already has a device other"),
    ])
  func refusedBoards(greeting: String, reason: String) async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"], devices: [device("other")]))
    let board = try await board(hub, greeting)
    let state = try await board.state
    #expect(state.said.hasPrefix("refused ") && state.said.contains(reason) && !state.isAccepted, "\(state)")
    #expect(state.said.hasSuffix("\n") && state.said.count { $0.isNewline } == 1)
    #expect(await proxy.hubs().first?.refusals.map { "refused \($0.refusal.reason)\n" } == [state.said])
    #expect(try await eventually { !board.channel.isActive })
  }

  @Test("the newer of two boards serves with an identity of its own, and the older one takes over with another")
  func newerBoard() async throws {
    let hub = fresh()
    var configuration = try proxy(hubs: ["\(hub)?open=listen&http=1.1"])
    let notes = Identities()
    configuration.interceptors = [notes]
    let proxy = try await start(configuration)
    _ = try await board(hub, Board.greeting("printer", 7), says: "first")
    #expect(try await serves("200 first", proxy))
    let first = notes.last
    #expect(try await serves("200 first", proxy))
    #expect(notes.last == first)
    let second = try await board(hub, Board.greeting("printer", 8), incarnation: 8, says: "second")
    #expect(try await get("printer", of: proxy) == "200 second")
    let identities = [first, notes.last]
    #expect(await proxy.hubs().first?.gateways == 2)
    await second.hangUp()
    #expect(try await serves("200 first", proxy))
    #expect(Set(identities + [notes.last]).count == 3)
  }

  @Test("the board that dialed last takes over from several that stand by")
  func latestBoardThatStandsBy() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"]))
    var boards: [Board] = []
    for number in UInt32(1)...3 {
      boards.append(
        try await board(hub, Board.greeting("printer", number), incarnation: number, says: "board \(number)"))
      #expect(try await serves("200 board \(number)", proxy))
    }
    for number in [2, 1] {
      await boards[number].hangUp()
      #expect(try await serves("200 board \(number)", proxy))
    }
  }

  @Test("boards that dial in a loop cause at most 32 log lines in ten seconds")
  func reconnectingBoards() async throws {
    let hub = fresh()
    let logged = LogRecord()
    var configuration = try proxy(hubs: ["\(hub)?open=listen&http=1.1"])
    configuration.logger = logged.logger
    let proxy = try await start(configuration)
    let began = NIODeadline.now()
    for number in 1...40 {
      let board = try await board(hub, Board.greeting("printer\(number % 3)", 1), incarnation: 1)
      await board.hangUp()
    }
    #expect(try await eventually { await proxy.hubs().first?.gateways == 0 })
    let lines = logged.entries.count { $0.level >= .info }
    let intervals = (NIODeadline.now() - began).nanoseconds / 10_000_000_000 + 1
    #expect(lines >= 32 && lines <= 32 * Int(intervals), "\(lines)")
  }

  @Test("a session continues when its board dials again, and the board of another run takes its place")
  func boardThatReturns() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"], patience: .seconds(20)))
    let first = try await board(hub, Board.greeting("printer", 7))
    #expect(try await get("printer", of: proxy) == "200 the board")
    await first.hangUp()
    #expect(try await eventually { await proxy.hubs().first?.gateways == 0 })
    async let waiting = get("printer", of: proxy)
    let second = try await board(hub, Board.greeting("printer", 7), says: "not asked", continuing: first)
    #expect(try await waiting == "200 the board")
    // The session of the first connection, whose server it still is.
    #expect(try await first.state.sessions == 1)
    #expect(try await second.state.sessions == 0)
    await second.hangUp()
    _ = try await board(hub, Board.greeting("printer", 9), incarnation: 9, says: "the next run")
    #expect(try await serves("200 the next run", proxy))
  }

  @Test("a name belongs to boards or to gateways with HTTP/2, and is free when its device has gone")
  func otherKind() async throws {
    let (hub, boards) = (fresh(), fresh())
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen", "\(boards)?open=listen&http=1.1"]))
    let gateway = try await gateway("printer", at: "\(hub)?open=dial")
    #expect(try await serves("200 the printer", proxy))
    let refused = try await board(boards, Board.greeting("printer", 7))
    #expect(try await refused.state.said == "refused claims 'printer', but a gateway with HTTP/2 uses this name\n")
    await gateway.stop(within: .zero)
    #expect(try await eventually { await proxy.devices().first?.status.lastSeen != nil })
    let accepted = try await board(boards, Board.greeting("printer", 7))
    #expect(try await accepted.state.isAccepted)
    #expect(try await serves("200 the board", proxy))
    _ = try await self.gateway("printer", at: "\(hub)?open=dial")
    let reason = "claims 'printer', but a board with HTTP/1.1 uses this name"
    #expect(try await eventually { await proxy.hubs().first?.refusals.first?.refusal.reason == reason })
  }

  @Test("over TLS, the name of a board must be in its certificate")
  func certifiedBoards() async throws {
    let own = try await Certificates()
    let hub = "tls://127.0.0.1:\(try Endpoint.freePort())"
    let proxy = try await start(
      proxy(hubs: ["\(hub)?\(own.server.options)&ca=\(own.authority)&open=listen&http=1.1"]))
    let identity = try await own.issue("printer", names: "DNS:printer")
    let link = "\(hub)?\(identity.options)&ca=\(own.authority)"
    let refused = try await board(link, Board.greeting("camera", 7))
    #expect(try await refused.state.said == "refused claims 'camera', its certificate is for 'printer'\n")
    _ = try await board(link, Board.greeting("printer", 7))
    #expect(try await get("printer", of: proxy) == "200 the board")
  }

  @Test("a reload that removes the hub closes the connections of its boards")
  func boardsOfRemovedHub() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen&http=1.1"]))
    let board = try await board(hub, Board.greeting("printer", 7))
    try await proxy.reload(self.proxy(hubs: ["\(hub)?open=listen&http=1.1"]), within: .seconds(1))
    #expect(try await get("printer", of: proxy) == "200 the board")
    #expect(board.channel.isActive)
    try await proxy.reload(self.proxy(hubs: [], devices: [device("other")]), within: .seconds(1))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    #expect(try await eventually { !board.channel.isActive })
  }

  @Test("http=1.1 with open=listen is for hubs over connections only")
  func linksOfBoards() throws {
    #expect(throws: BywayError.self) { try transports.link("loopback:x?open=listen&http=1.1") }
    #expect(throws: BywayError.self) { try transports.hub(LinkAddress("loopback:x?open=listen&http=1.1&line=9600")) }
    #expect(try transports.hub(LinkAddress("loopback:x?open=listen&http=1.1")).framing == .http1)
  }

  /// An interceptor that records the destination of each request.
  private final class Identities: Interceptor {
    private let destinations = Mutex<[Destination]>([])

    var last: Destination? { destinations.withLock(\.last) }

    func intercept(_ request: Request, next: Next) async throws -> Response {
      let destination = next.destination(of: request)
      destinations.withLock { $0.append(destination) }
      return try await next(request)
    }
  }
}
