import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import Testing

/// The expectation of a client before it sends a body (RFC 9110 §10.1.1).
@Suite("Expect: 100-continue", .timeLimit(.minutes(1))) struct ExpectationTests {
  private let transports = TransportRegistry([LoopbackTransport()])

  /// Returns the status codes of a PUT that waits for 100 before its body.
  private func codes(_ expectation: String?, reads: Bool) async throws -> [Int] {
    let link = try transports.link("loopback:expectations-\(UInt64.random(in: 0 ... .max))")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link],
        origin: .handler { request in
          if reads { _ = try await request.body.collect(upTo: 100) }
          return Response(status: .noContent)
        }))
    let client = BywayClient(link)
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let heard = HeardCodes()
    var request = try Request(.put, url: "http://device/", body: Body(chunks))
    if let expectation { request.head.headerFields[.expect] = expectation }
    request.onInformational = { head in
      heard.add(head.status.code)
      sender.yield(ByteBuffer(string: "body"))
      sender.finish()
    }
    if expectation == nil { sender.finish() }
    let response = try await client.execute(request)
    await client.shutDown()
    await gateway.stop(within: .zero)
    return heard.all + [response.status.code]
  }

  private final class HeardCodes: Sendable {
    private let codes = Mutex<[Int]>([])
    var all: [Int] { codes.withLock(\.self) }
    func add(_ code: Int) { codes.withLock { $0.append(code) } }
  }

  @Test("with Expect: 100-continue, the body is sent if the handler reads it, and otherwise only the response comes")
  func continues() async throws {
    #expect(try await codes("100-continue", reads: true) == [100, 204])
    #expect(try await codes("100-Continue", reads: false) == [204])
    #expect(try await codes(nil, reads: true) == [204])
  }
}
