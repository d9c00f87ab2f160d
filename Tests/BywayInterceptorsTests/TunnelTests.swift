import Byway
import HTTPTypes
import TestTools
import Testing

@testable import BywayInterceptors

/// Requests whose exchanges become tunnels, with the bytes of another protocol in place of bodies.
@Suite("Interceptors and tunnels", .timeLimit(.minutes(1))) struct TunnelTests {
  /// A request for a tunnel: CONNECT, a WebSocket, or an upgrade as a serving connection passes it on.
  static let tunnels: [HTTPRequest] = {
    let fields: HTTPFields = HTTPField.Name("byway-upgrade-method").map { [$0: "POST"] } ?? [:]
    var webSocket = HTTPRequest(method: .connect, scheme: "http", authority: "a", path: "/")
    webSocket.extendedConnectProtocol = "websocket"
    var upgrade = HTTPRequest(method: .connect, scheme: "http", authority: "a", path: "/", headerFields: fields)
    upgrade.extendedConnectProtocol = "tcp"
    return [HTTPRequest(method: .connect, scheme: nil, authority: "a:1", path: nil), webSocket, upgrade]
  }()

  private let origin = TestOrigin { request in
    Response(status: .ok, fields: [.contentType: "text/plain"], body: request.body)
  }

  /// Long enough to be compressed.
  private static let bytes = String(repeating: "0123456789", count: 2000)

  /// Sends bytes through a tunnel and back.
  private func echo(_ head: HTTPRequest, through chain: Next) async throws -> String {
    try await chain(Request(head, body: Body(Self.bytes))).text
  }

  @Test("bytes of a tunnel are not compressed at either end", arguments: tunnels)
  func compression(_ head: HTTPRequest) async throws {
    #expect(try await echo(head, through: origin.behind(Compress(at: .client))) == Self.bytes)
    #expect(origin.heads == [head])
    var asking = head
    asking.headerFields[.bywayAcceptCoding] = LinkCoding.name
    #expect(try await echo(asking, through: origin.behind(Compress(at: .gateway))) == Self.bytes)
  }

  @Test("bytes of a tunnel are not slowed down or cut", arguments: tunnels)
  func faults(_ head: HTTPRequest) async throws {
    let rules = FaultRules(clock: VirtualClock())
    _ = try rules.list.add(FaultRule(.cut(1)))
    _ = try rules.list.add(FaultRule(.pace(1)))
    #expect(try await echo(head, through: origin.behind(rules)) == Self.bytes)
  }

  @Test("bytes of a tunnel are not transformed", arguments: tunnels)
  func transformation(_ head: HTTPRequest) async throws {
    let transform = Transform(mediaTypes: ["text/plain"]) { _ in Replacement(of: "0", with: "1") }
    #expect(try await echo(head, through: origin.behind(transform)) == Self.bytes)
  }

  @Test("a tunnel is not recorded", arguments: tunnels)
  func records(_ head: HTTPRequest) async throws {
    let folder = try TemporaryFolder()
    #expect(try await echo(head, through: origin.behind(try Recorder(into: folder.path))) == Self.bytes)
    #expect(folder.names.isEmpty)
  }

  @Test("a tunnel is not opened a second time", arguments: tunnels)
  func retries(_ head: HTTPRequest) async throws {
    let lost = TestOrigin { _ in throw BywayError(.linkUnavailable, "down", processing: .none) }
    await #expect(throws: BywayError.self) {
      try await echo(head, through: lost.behind(Retry(attempts: 3, clock: VirtualClock(), random: { 0 })))
    }
    #expect(lost.heads.count == 1)
  }
}
