import Byway
import BywayGateway
import BywayWebSocket
import Foundation
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestPeers

/// A client, a link and a gateway, in front of an origin or a server that is a function.
enum SocketRig {
  static func with(origin: String, _ body: (BywayClient) async throws -> Void) async throws {
    try await with(try Origin(origin), body: body)
  }

  static func with(
    handler: @escaping @Sendable (Request) async throws -> Response, _ body: (BywayClient) async throws -> Void
  ) async throws {
    try await with(.handler(handler), body: body)
  }

  /// - Parameter place: a destination that the gateway may reach besides its origin.
  static func with(
    _ origin: Origin, allowing place: String? = nil, interceptors: [any Interceptor] = [],
    body: (BywayClient) async throws -> Void
  ) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    var far = GatewayConfiguration(links: [link], origin: origin)
    far.allowed = try place.map { [try AllowRule($0)] } ?? []
    let gateway = try await Gateway.start(far)
    var near = BywayClient.Configuration.defaults
    near.interceptors = interceptors
    let client = BywayClient(link, configuration: near)
    do { try await body(client) } catch {
      await client.shutDown()
      await gateway.stop(within: .seconds(1))
      throw error
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}
