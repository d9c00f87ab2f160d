import NIOCore
import Testing

@testable import Byway

/// The tables of docs/design/connection-pool.md about trials of connections.
extension ConnectionPoolTests {
  @Test("a pool that looks for a better link handles every event in every state as in the documentation")
  func betterLinks() throws {
    try Self.check("Better links", Self.searching, Self.searchingScene, Self.searchName)
  }

  @Test("a pool whose gateways dial handles every event in every state as in the documentation")
  func gateways() throws {
    try Self.check("Gateways that dial", Self.dialing, Self.dialingScene, Self.gatewayName)
  }

  // MARK: Better links

  private static var searching: Events<ManyAtOnce> {
    [
      "an exchange comes": { $0.bench.arrive() },
      "the better link opens": { scene in
        guard case .dialing = scene.bench.pool.search else { return }
        let better = scene.other
        scene.bench.event { $0.searchOpened(better, $1, at: $2) }
      },
      "the better link fails": { scene in
        guard case .dialing = scene.bench.pool.search else { return }
        scene.bench.event { pool, _, _ in pool.searchFailed(0, lost) }
      },
      "a PING is answered": { scene in
        let better = scene.other
        scene.bench.event { _ = $0.ponged(better, $1, at: $2) }
      },
      "PINGs were answered for 3 s": { scene in
        let better = scene.other
        for _ in 0..<20 {
          guard case .trying = scene.bench.pool.search else { return }
          _ = scene.bench.take()
          scene.bench.event { _ = $0.ponged(better, $1, at: $2) }
          if case .trying = scene.bench.pool.search { scene.bench.advance(by: .milliseconds(500)) }
        }
      },
      "the next deadline passes": { $0.bench.advanceToDeadline() },
      "the connection ends": { scene in
        let connection = scene.connection
        scene.bench.event { $0.ended(connection, lost, forWaiting: lost, at: $2) }
      },
      "the pool is retired": { $0.bench.event { pool, _, _ in pool.retire() } },
      "the pool is shut down": { $0.bench.event { pool, _, _ in _ = pool.shutDown() } },
    ]
  }

  private static func searchingScene(_ state: String) -> Scene<ManyAtOnce> {
    var scene = sharedScene("open")
    var steps: [String] = []
    switch state {
    case "not searching", "pausing": steps = ["the better link fails"]
    case "testing": steps = ["the better link opens"]
    case "answered": steps = ["the better link opens", "a PING is answered"]
    default: break
    }
    for step in steps { searching[step]?(&scene) }
    // The search ends a minute after the last exchange.
    if state == "not searching" { scene.bench.advance(by: .seconds(61)) }
    _ = scene.bench.take()
    return scene
  }

  private static func searchName(_ pool: borrowing PoolBench<ManyAtOnce>.Pool) -> String {
    switch pool.search {
    case .none: "not searching"
    case .pausing: "pausing"
    case .dialing: "dialing"
    case .trying(let trial): trial.hasAnswered ? "answered" : "testing"
    }
  }

  // MARK: Gateways that dial

  private static var dialing: Events<ManyAtOnce> {
    [
      "an exchange comes": { $0.bench.arrive() },
      "a gateway dials": { scene in
        guard case .awaited = scene.bench.pool.gateway else { return }
        let dialed = scene.bench.pool.current == nil && scene.bench.pool.proving == nil ? scene.connection : scene.other
        scene.bench.event { $0.gatewayDialed(dialed, at: $2) }
        if dialed === scene.connection { scene.bench.event { pool, _, _ in pool.proved(dialed) } }
      },
      "a PING is answered": { scene in
        let tested = scene.bench.pool.proving?.connection ?? scene.other
        scene.bench.event { _ = $0.ponged(tested, $1, at: $2) }
      },
      "the next deadline passes": { $0.bench.advanceToDeadline() },
      "the connection ends": { scene in
        guard let current = scene.bench.pool.current else { return }
        scene.bench.event { $0.ended(current, lost, forWaiting: lost, at: $2) }
      },
      "the pool is retired": { $0.bench.event { pool, _, _ in pool.retire() } },
      "the pool is shut down": { $0.bench.event { pool, _, _ in _ = pool.shutDown() } },
    ]
  }

  private static func dialingScene(_ state: String) -> Scene<ManyAtOnce> {
    var scene = Scene(
      bench: PoolBench<ManyAtOnce>(links: 1, isAwaited: true), connection: FakeConnection<ManyAtOnce>("first gateway"))
    var steps: [String] = []
    switch state {
    case "awaiting": steps = ["an exchange comes"]
    case "open": steps = ["an exchange comes", "a gateway dials"]
    case "testing": steps = ["an exchange comes", "a gateway dials", "a gateway dials"]
    case "reserve": steps = ["an exchange comes", "a gateway dials", "a gateway dials", "a PING is answered"]
    case "testing the reserve":
      steps = [
        "an exchange comes", "a gateway dials", "a gateway dials", "a PING is answered", "the connection ends",
      ]
    default: break
    }
    for step in steps { dialing[step]?(&scene) }
    _ = scene.bench.take()
    return scene
  }

  private static func gatewayName(_ pool: borrowing PoolBench<ManyAtOnce>.Pool) -> String {
    switch pool.life {
    case .retired: return "retired"
    case .shutDown: return "shut down"
    case .serving: break
    }
    if pool.proving != nil { return "testing the reserve" }
    if case .trying = pool.gateway { return "testing" }
    if pool.current != nil { return pool.ready.count > 1 ? "reserve" : "open" }
    return pool.dialing > 0 ? "awaiting" : "unused"
  }
}
