import Byway
import BywayGateway
import BywayWebSocket
import Foundation
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestPeers

/// A client, a link and a gateway, in front of an origin or of a server that is a function.
enum SocketRig {
  static func with(origin: String, _ body: (BywayClient) async throws -> Void) async throws {
    try await with(try Origin(origin), body)
  }

  static func with(
    handler: @escaping @Sendable (Request) async throws -> Response, _ body: (BywayClient) async throws -> Void
  ) async throws {
    try await with(.handler(handler), body)
  }

  private static func with(_ origin: Origin, _ body: (BywayClient) async throws -> Void) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: origin))
    let client = BywayClient(link)
    do { try await body(client) } catch {
      await client.shutDown()
      await gateway.stop(within: .seconds(1))
      throw error
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}
