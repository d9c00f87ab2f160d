import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway

/// Tunnels that use up the peer's stream limit, in virtual time.
@Suite("Idle tunnels on a full link", .timeLimit(.minutes(1))) struct IdleTunnelTests {
  private final class Client {}

  /// Clients that live as long as the test, so that each has its own identity.
  private final class Clients {
    var all: [Client] = []
  }

  /// An origin that opens each tunnel, and answers other requests immediately.
  private final class Origin: ExchangeHandler {
    private(set) var tunnels: [any ResponseSink] = []

    func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
      if request.fields.value(of: .method) == "CONNECT" {
        tunnels.append(sink)
        sink.head([":status": "200"], isComplete: false)
      } else {
        sink.head([":status": "204"], isComplete: true)
      }
      return DiscardingRequestSink()
    }
  }

  private static let connect: FieldSection = [":method": "CONNECT", ":authority": "host:22"]

  private let origin = Origin()
  private let clients = Clients()

  private func client() -> Client {
    clients.all.append(Client())
    return clients.all[clients.all.count - 1]
  }

  private func rig(limit: Int) throws -> UpstreamRig {
    let rig = UpstreamRig(.http2, origin: origin)
    rig.streamLimit = limit
    rig.upstream?.open()
    try rig.run(for: .milliseconds(100))
    return rig
  }

  private func tunnels(_ count: Int, of client: Client, over rig: UpstreamRig) throws -> [RiggedResponse] {
    let tunnels = try (0..<count).map { _ in try rig.begin(Self.connect, of: client, isComplete: false) }
    try rig.run(for: .milliseconds(100))
    #expect(tunnels.allSatisfy { $0.status == "200" })
    return tunnels
  }

  @Test("only the longest idle tunnel of a client above its share is closed") func longest() throws {
    let rig = try rig(limit: 4)
    let all = try tunnels(4, of: client(), over: rig)
    try rig.run(for: .seconds(10))
    // The first tunnel got a byte from its client, and the second from the far end.
    all[0].request?.write(ByteBuffer(string: "x"))
    origin.tunnels[1].write(ByteBuffer(string: "x"))
    try rig.run(for: .seconds(7))
    let other = try rig.begin(.get, of: client())
    try rig.run(for: .seconds(1)) { other.isOver }
    #expect(other.status == "204")
    #expect(all.map(\.isOver) == [false, false, true, false])
    #expect(all[2].error?.code == .refused)
    #expect(all[2].error?.message.contains("idle") == true)
    try rig.run(for: .seconds(10))
    #expect(all.count { $0.isOver } == 1)
    #expect(rig.upstream?.status.waiting == 0)
  }

  @Test("a tunnel that becomes idle while a request waits is closed for it") func becomesIdle() throws {
    let rig = try rig(limit: 2)
    let all = try tunnels(2, of: client(), over: rig)
    let other = try rig.begin(.get, of: client())
    try rig.run(for: .milliseconds(4800))
    #expect(!other.isOver && all.allSatisfy { !$0.isOver })
    try rig.run(for: .seconds(2))
    #expect(other.status == "204")
    #expect(all.count { $0.isOver } == 1)
  }

  @Test("a tunnel with bytes in either direction is not closed") func active() throws {
    let rig = try rig(limit: 2)
    let all = try tunnels(2, of: client(), over: rig)
    let other = try rig.begin(.get, of: client())
    for _ in 0..<6 {
      all[0].request?.write(ByteBuffer(string: "x"))
      origin.tunnels[1].write(ByteBuffer(string: "x"))
      try rig.run(for: .seconds(2))
    }
    #expect(other.end == other.begin + .seconds(10))
    #expect(other.error?.code == .refused)
    #expect(all.allSatisfy { !$0.isOver })
  }

  @Test("a client within its share keeps its idle tunnels") func withinShare() throws {
    let rig = try rig(limit: 4)
    let (first, second) = (client(), client())
    let all = try tunnels(2, of: first, over: rig) + tunnels(2, of: second, over: rig)
    try rig.run(for: .seconds(10))
    // The client is within its share.
    let more = try rig.begin(.get, of: second)
    try rig.run(for: .seconds(12))
    #expect(more.error?.code == .refused)
    #expect(all.allSatisfy { !$0.isOver })
  }

  @Test("a client with exactly its share keeps its tunnels, even if they have been idle for longest")
  func exactShare() throws {
    let rig = try rig(limit: 6)
    let own = try tunnels(2, of: client(), over: rig)
    try rig.run(for: .seconds(2))
    let above = try tunnels(3, of: client(), over: rig)
    let below = client()
    _ = try tunnels(1, of: below, over: rig)
    try rig.run(for: .seconds(10))
    let other = try rig.begin(.get, of: below)
    try rig.run(for: .seconds(1)) { other.isOver }
    #expect(other.status == "204")
    #expect(own.allSatisfy { !$0.isOver } && above.count { $0.isOver } == 1)
  }

  @Test("only a client above its share loses a tunnel, and two others keep theirs") func three() throws {
    let rig = try rig(limit: 4)
    let one = try tunnels(1, of: client(), over: rig)
    let three = try tunnels(3, of: client(), over: rig)
    try rig.run(for: .seconds(10))
    let other = try rig.begin(.get, of: client())
    try rig.run(for: .seconds(1)) { other.isOver }
    #expect(other.status == "204")
    #expect(!one[0].isOver && three.count { $0.isOver } == 1)
  }

  @Test("a client gets its share of the idle tunnels opened by others, and no more") func share() throws {
    let rig = try rig(limit: 8)
    let all = try tunnels(8, of: client(), over: rig)
    try rig.run(for: .seconds(10))
    let client = client()
    let others = try (0..<8).map { _ in try rig.begin(Self.connect, of: client, isComplete: false) }
    try rig.run(for: .seconds(4))
    #expect(all.count { $0.isOver } == 4)
    #expect(others.count { $0.status == "200" } == 4)
  }

  @Test("with more clients than streams, idle tunnels are closed for each client") func manyClients() throws {
    let rig = try rig(limit: 4)
    var all: [RiggedResponse] = []
    for _ in 0..<4 { all += try tunnels(1, of: client(), over: rig) }
    try rig.run(for: .seconds(10))
    let others = try (0..<2).map { _ in try rig.begin(.get, of: client()) }
    try rig.run(for: .seconds(2))
    #expect(others.allSatisfy { $0.status == "204" })
    #expect(all.count { $0.isOver } <= 2)
  }

  @Test("a client keeps its three idle tunnels, however many other clients wait") func firstFew() throws {
    let rig = try rig(limit: 96)
    let (one, many) = (client(), client())
    let three = try tunnels(3, of: one, over: rig)
    let five = try tunnels(5, of: many, over: rig)
    for _ in 0..<88 { _ = try tunnels(1, of: client(), over: rig) }
    try rig.run(for: .seconds(10))
    let others = try (0..<6).map { _ in try rig.begin(Self.connect, of: client(), isComplete: false) }
    try rig.run(for: .seconds(15)) { others.allSatisfy { $0.status != nil || $0.isOver } }
    #expect(three.allSatisfy { !$0.isOver })
    #expect(five.count { $0.isOver } == 2)
    #expect(others.count { $0.status == "200" } == 2)
    #expect(others.count { $0.error?.code == .refused } == 4)
  }

  @Test("three clients with ninety tunnels each do not block a fourth client") func attack() throws {
    let rig = try rig(limit: 256)
    for _ in 0..<3 {
      let client = client()
      for _ in 0..<90 { _ = try rig.begin(Self.connect, of: client, isComplete: false) }
    }
    try rig.run(for: .milliseconds(200))
    let other = try rig.begin(.get, of: client())
    try rig.run(for: .seconds(20)) { other.isOver }
    #expect(other.status == "204")
    let end = try #require(other.end)
    #expect(end - other.begin < .seconds(7))
  }
}
