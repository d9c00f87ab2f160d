import Foundation
import NIOCore
import Testing

@testable import Byway

/// Every state and event as in docs/design/connection-pool.md, without connections.
@Suite("States of a connection pool") struct ConnectionPoolTests {
  static let lost = BywayError(.linkLost, "lost", processing: .none)

  /// A pool in a state of the table, and the connection that the events are about.
  struct Scene<Mode: FakeMode>: ~Copyable {
    var bench: PoolBench<Mode>
    var connection = FakeConnection<Mode>(link: 1)
    /// The connection over a better link, or of another gateway.
    var other = FakeConnection<Mode>("other connection")
  }

  typealias Events<Mode: FakeMode> = [String: (inout Scene<Mode>) -> Void]

  private static func common<Mode: FakeMode>() -> Events<Mode> {
    [
      "an exchange comes": { $0.bench.arrive() },
      "an attempt opens a connection": { scene in
        let connection = scene.connection
        scene.bench.event {
          if $0.dialing > 0 { $0.opened(connection, tried: [0, 1], at: $2) }
        }
      },
      "an attempt fails": { $0.bench.event { $0.dialFailed(lost, at: $2) } },
      "the next deadline passes": { $0.bench.advanceToDeadline() },
      "the connection ends": { scene in
        let connection = scene.connection
        guard Mode.isMultiplexed || scene.bench.pool.openCount > 0 else { return }
        scene.bench.event { $0.ended(connection, lost, forWaiting: Mode.isMultiplexed ? lost : nil, at: $2) }
      },
      "the pool is retired": { $0.bench.event { pool, _, _ in pool.retire() } },
      "the pool is shut down": { $0.bench.event { pool, _, _ in _ = pool.shutDown() } },
    ]
  }

  // MARK: HTTP/1.1

  private static var single: Events<OneAtATime> {
    common().merging([
      "the connection becomes idle": { scene in
        if scene.bench.pool.openCount > 0, scene.bench.pool.ready.isEmpty { scene.bench.becomesIdle(scene.connection) }
      }
    ]) { $1 }
  }

  private static func singleScene(_ state: String) -> Scene<OneAtATime> {
    var scene = Scene(bench: PoolBench<OneAtATime>(links: 1))
    var steps: [String] = []
    switch state {
    case "opening": steps = ["an exchange comes"]
    case "pausing": steps = ["an exchange comes", "an attempt fails"]
    case "busy": steps = ["an exchange comes", "an attempt opens a connection", "the connection becomes idle"]
    case "idle":
      steps = [
        "an exchange comes", "an attempt opens a connection", "the connection becomes idle",
        "the connection becomes idle",
      ]
    case "retired", "shut down":
      steps = [
        "an exchange comes", "an attempt opens a connection", "the connection becomes idle",
        state == "retired" ? "the pool is retired" : "the pool is shut down",
      ]
    default: break
    }
    for step in steps { single[step]?(&scene) }
    _ = scene.bench.take()
    return scene
  }

  private static func name(_ pool: borrowing PoolBench<OneAtATime>.Pool) -> String {
    switch pool.life {
    case .retired: "retired"
    case .shutDown: "shut down"
    case .serving:
      if pool.pauseEnd != nil {
        "pausing"
      } else if pool.dialing > 0 {
        "opening"
      } else {
        !pool.ready.isEmpty ? "idle" : pool.openCount > 0 ? "busy" : "unused"
      }
    }
  }

  // MARK: HTTP/2

  private static var shared: Events<ManyAtOnce> {
    common().merging([
      "a PING is answered": { scene in
        let connection = scene.connection
        scene.bench.event { _ = $0.ponged(connection, $1, at: $2) }
      },
      "its line is gone": { scene in
        let connection = scene.connection
        connection.isInterrupted = true
        scene.bench.event { $0.interrupted(connection, at: $2) }
      },
      "its line returns": { scene in
        let connection = scene.connection
        connection.isInterrupted = false
        scene.bench.event { pool, _, _ in pool.resumed(connection) }
      },
      "the connection takes no more exchanges": { scene in
        let connection = scene.connection
        scene.bench.event { $0.refuses(connection, at: $2) }
      },
    ]) { $1 }
  }

  static func sharedScene(_ state: String) -> Scene<ManyAtOnce> {
    var scene = Scene(bench: PoolBench<ManyAtOnce>(links: 2))
    var steps: [String] = []
    switch state {
    case "opening": steps = ["an exchange comes"]
    case "pausing": steps = ["an exchange comes", "an attempt fails"]
    case "proving": steps = ["an exchange comes", "an attempt opens a connection"]
    case "open", "interrupted":
      steps = ["an exchange comes", "an attempt opens a connection", "a PING is answered"]
      if state == "interrupted" { steps.append("its line is gone") }
    case "retired": steps = ["the pool is retired"]
    case "shut down": steps = ["the pool is shut down"]
    default: break
    }
    for step in steps { shared[step]?(&scene) }
    _ = scene.bench.take()
    return scene
  }

  private static func name(_ pool: borrowing PoolBench<ManyAtOnce>.Pool) -> String {
    switch pool.life {
    case .retired: "retired"
    case .shutDown: "shut down"
    case .serving:
      if let current = pool.current {
        current.isInterrupted ? "interrupted" : "open"
      } else if pool.proving != nil {
        "proving"
      } else {
        pool.dialing > 0 ? "opening" : pool.pauseEnd != nil ? "pausing" : "unused"
      }
    }
  }

  // MARK: The tables

  private static func table(_ heading: String) throws -> [[String]] {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../docs/design/connection-pool.md")
    let section = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "## \(heading)\n").dropFirst()
    return (section.first ?? "").components(separatedBy: "\n## ")[0].split(separator: "\n")
      .filter { $0.hasPrefix("| ") }
      .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
  }

  private static func outcome(from before: String, _ actions: [String], to after: String) -> String {
    let state = before == after ? "" : "**\(after)**"
    let text = ([state] + actions).filter { !$0.isEmpty }.joined(separator: ", ")
    return text.isEmpty ? "—" : text
  }

  static func check<Mode: FakeMode>(
    _ heading: String, _ events: Events<Mode>, _ scene: (String) -> Scene<Mode>,
    _ name: (borrowing PoolBench<Mode>.Pool) -> String
  ) throws {
    let rows = try table(heading)
    let states = try #require(rows.first).dropFirst()
    #expect(Set(rows.dropFirst().map { $0[0] }) == Set(events.keys))
    for row in rows.dropFirst() {
      let event = try #require(events[row[0]])
      for (state, expected) in zip(states, row.dropFirst()) {
        var scene = scene(state)
        #expect(name(scene.bench.pool) == state)
        event(&scene)
        let outcome = outcome(from: state, scene.bench.take(), to: name(scene.bench.pool))
        #expect(outcome == expected, "\(row[0]), while \(state)")
      }
    }
  }

  @Test("a pool of HTTP/1.1 connections handles every event in every state as in the documentation")
  func http1() throws {
    try Self.check("HTTP/1.1", Self.single, Self.singleScene, Self.name)
  }

  @Test("a pool with an HTTP/2 connection handles every event in every state as in the documentation")
  func http2() throws {
    try Self.check("HTTP/2 over several links", Self.shared, Self.sharedScene, Self.name)
  }

  // MARK: Limits and time

  @Test("a pool at its limit closes an idle connection for a request that needs a new one")
  func replacesIdle() {
    var scene = Self.singleScene("idle")
    let other = FakeConnection<OneAtATime>()
    scene.bench.arrive(isRepeatable: false)
    scene.bench.event { $0.opened(other, at: $2) }
    scene.bench.becomesIdle(other)
    #expect(scene.bench.take() == ["close", "open", "use", "send"])
    scene.bench.arrive(isRepeatable: false)
    #expect(scene.bench.pool.isFull && scene.bench.take() == [])
    let first = scene.connection
    scene.bench.event { $0.ended(first, Self.lost, forWaiting: nil, at: $2) }
    #expect(scene.bench.take() == ["open"])
  }

  @Test("a full queue drops the last request of the client with the most requests")
  func drops() {
    var bench = PoolBench<OneAtATime>(links: 1)
    let user = UserName("user").map { ClientKey.user($0) } ?? .own
    let greedy = (0..<4).map { _ in bench.arrive(of: .own) }
    _ = bench.take()
    bench.arrive(of: user)
    #expect(bench.take() == ["refuse"])
    #expect(!bench.pool.waiting.exchanges.contains { $0 === greedy[3] } && bench.pool.waiting.count == 4)
  }

  @Test("pauses between attempts double up to five seconds, and end with the first connection that can be used")
  func backsOff() {
    var bench = PoolBench<ManyAtOnce>(links: 1)
    bench.arrive()
    var pauses: [Int64] = []
    for _ in 0..<8 {
      let start = bench.now
      bench.event { $0.dialFailed(Self.lost, at: $2) }
      bench.advanceToDeadline()
      pauses.append((bench.now - start).nanoseconds / 1_000_000)
      #expect(bench.pool.dialing == 1)
    }
    #expect(pauses == [100, 200, 400, 800, 1600, 3200, 5000, 5000])
    let connection = FakeConnection<ManyAtOnce>()
    bench.event { $0.opened(connection, at: $2) }
    bench.event { pool, _, _ in pool.proved(connection) }
    bench.event { $0.ended(connection, Self.lost, forWaiting: Self.lost, at: $2) }
    bench.arrive()
    #expect(bench.pool.dialing == 1)
  }

  @Test("the first attempt ends half a second before its request's link timeout, and later ones get ten seconds")
  func timeToConnect() {
    var bench = PoolBench<ManyAtOnce>(links: 1)
    bench.arrive()
    #expect(bench.lastDial?.by == bench.now + .milliseconds(4500))
    bench.event { $0.dialFailed(Self.lost, at: $2) }
    bench.advanceToDeadline()
    #expect(bench.lastDial?.by == bench.now + .seconds(10))
  }

  private static let missing = BywayError(.linkUnavailable, Diagnosis(.noProgram, "missing"))

  @Test("after a failure that waiting cannot repair, requests fail at once until an attempt succeeds")
  func lastingFailure() {
    var many = PoolBench<ManyAtOnce>(links: 1)
    many.arrive()
    _ = many.take()
    many.event { $0.dialFailed(Self.missing, at: $2) }
    // The exchange of the attempt, and those that come during the pause.
    #expect(many.take().contains("fail all"))
    many.arrive()
    #expect(many.take().contains("fail all"))

    var single = PoolBench<OneAtATime>(links: 1)
    single.pool.rules.patience = .seconds(5)
    single.arrive()
    _ = single.take()
    single.event { $0.dialFailed(Self.missing, at: $2) }
    #expect(single.take().contains("fail"))
  }

  @Test("a connection that is kept open is opened again after a loss and after a failure, unless the pool is retired")
  func keptOpen() {
    for isRetired in [false, true] {
      var bench = PoolBench<ManyAtOnce>(links: 1)
      bench.pool.rules.isKeptOpen = true
      bench.event { pool, _, _ in pool.open() }
      #expect(bench.pool.dialing == 1)
      bench.event { $0.dialFailed(Self.lost, at: $2) }
      bench.advanceToDeadline()
      #expect(bench.pool.dialing == 1)
      let connection = FakeConnection<ManyAtOnce>()
      bench.event { $0.opened(connection, at: $2) }
      if isRetired { bench.event { pool, _, _ in pool.retire() } }
      bench.event { $0.ended(connection, Self.lost, forWaiting: Self.lost, at: $2) }
      #expect((bench.pool.dialing == 1 || bench.pool.pauseEnd != nil) == !isRetired)
    }
  }

  // MARK: Trials

  @Test("a link that does not answer its first PING is replaced by the next link")
  func silentLink() {
    var scene = Self.sharedScene("opening")
    let connection = scene.connection
    scene.bench.event { $0.opened(connection, tried: [1], at: $2) }
    _ = scene.bench.take()
    scene.bench.advance(by: LinkTable.headStart)
    #expect(scene.bench.take() == ["give up", "open"])
    #expect(scene.bench.lastDial?.tried == [1] && !scene.bench.links.isUp(1))
  }

  @Test("a better link takes over after it has answered for three seconds")
  func betterLink() {
    var scene = Self.sharedScene("open")
    let better = FakeConnection<ManyAtOnce>(link: 0)
    scene.bench.arrive()
    #expect(scene.bench.take() == ["send"])
    scene.bench.event { $0.searchOpened(better, $1, at: $2) }
    for _ in 0..<6 {
      scene.bench.event { _ = $0.ponged(better, $1, at: $2) }
      scene.bench.advance(by: .milliseconds(500))
      #expect(scene.bench.pool.current === scene.connection)
    }
    _ = scene.bench.take()
    scene.bench.event { _ = $0.ponged(better, $1, at: $2) }
    #expect(scene.bench.pool.current === better && scene.bench.take() == ["close", "use"])
  }

  @Test("a better link under test takes over at once when the lesser one is lost")
  func hastens() {
    var scene = Self.sharedScene("open")
    let better = FakeConnection<ManyAtOnce>(link: 0)
    let lesser = scene.connection
    scene.bench.arrive()
    scene.bench.event { $0.searchOpened(better, $1, at: $2) }
    scene.bench.event { _ = $0.ponged(better, $1, at: $2) }
    _ = scene.bench.take()
    scene.bench.event { $0.ended(lesser, Self.lost, forWaiting: Self.lost, at: $2) }
    #expect(scene.bench.pool.current === better && scene.bench.take() == ["use"])
  }

  @Test("a connection whose line is away for a second is abandoned if there is another link")
  func lineStaysAway() {
    var scene = Self.sharedScene("open")
    let connection = scene.connection
    connection.isInterrupted = true
    scene.bench.event { $0.interrupted(connection, at: $2) }
    scene.bench.arrive()
    #expect(!scene.bench.take().contains("send"))
    scene.bench.advance(by: .seconds(1))
    #expect(scene.bench.take() == ["abort"])
  }

  // MARK: Gateways that dial

  private static func gateways(_ sharing: GatewaySharing) -> PoolBench<ManyAtOnce> {
    PoolBench<ManyAtOnce>(links: 1, isAwaited: true) { $0.sharing = sharing }
  }

  @Test("the gateway that dialed last and answers gets the requests, and earlier ones are kept in reserve")
  func newestGateway() {
    var bench = Self.gateways(.newest)
    let (first, second) = (FakeConnection<ManyAtOnce>("first"), FakeConnection<ManyAtOnce>("second"))
    bench.arrive()
    #expect(bench.take() == ["await"])
    bench.event { $0.gatewayDialed(first, at: $2) }
    #expect(bench.take() == ["use", "await", "send"] && bench.lastSent === first)
    bench.event { $0.gatewayDialed(second, at: $2) }
    #expect(bench.take() == ["test"])
    bench.event { _ = $0.ponged(second, $1, at: $2) }
    #expect(bench.take() == ["replace", "use", "await"])
    bench.arrive()
    #expect(bench.lastSent === second)
    // The other one is tested when it is needed again.
    bench.event { $0.refuses(second, at: $2) }
    bench.event { _ = $0.ponged(first, $1, at: $2) }
    bench.arrive()
    #expect(bench.lastSent === first && bench.pool.ready.count == 1)
  }

  @Test("at most seven gateways are kept in reserve")
  func mostGateways() {
    var bench = Self.gateways(.newest)
    for _ in 0..<12 { bench.event { $0.adopt(FakeConnection<ManyAtOnce>(), at: $2) } }
    #expect(bench.pool.ready.count == 8 && bench.take().count { $0 == "close" } == 4)
  }

  @Test("with balancing, requests go to the gateway with the lowest load, and to one that fails requests last")
  func balances() {
    var bench = Self.gateways(.balanced)
    let connections = ["first", "second"].map { FakeConnection<ManyAtOnce>($0) }
    for connection in connections { bench.event { $0.adopt(connection, at: $2) } }
    bench.arrive()
    bench.arrive()
    #expect(connections.map(\.load) == [1, 1])
    connections[1].isResting = true
    connections[0].streamLimit = 9
    bench.arrive()
    #expect(connections.map(\.load) == [2, 1])
  }

  // MARK: Tunnels

  @Test("an idle tunnel of a client above its share ends while another client waits")
  func idleTunnels() {
    var bench = PoolBench<ManyAtOnce>(links: 1)
    let connection = FakeConnection<ManyAtOnce>()
    let user = UserName("user").map { ClientKey.user($0) } ?? .own
    let first = bench.arrive()
    bench.event { $0.opened(connection, at: $2) }
    let second = bench.arrive()
    for tunnel in [first, second] { tunnel.lastTraffic = bench.now }
    connection.hasRoom = false
    bench.arrive(of: user)
    _ = bench.take()
    bench.advance(by: .seconds(4))
    #expect(bench.take() == [])
    bench.advance(by: .seconds(1))
    #expect(bench.take() == ["reclaim"])
  }

  // MARK: Ends

  @Test("after a shutdown, a pool has no running timer", arguments: ["opening", "pausing", "proving", "open"])
  func noTimers(_ state: String) {
    var scene = Self.sharedScene(state)
    scene.bench.arrive()
    scene.bench.event { pool, _, _ in _ = pool.shutDown() }
    for request in scene.bench.pool.waiting.exchanges { scene.bench.pool.remove(request) }
    #expect(scene.bench.pool.nextDeadline == nil && scene.bench.pool.ready.isEmpty)
  }
}
