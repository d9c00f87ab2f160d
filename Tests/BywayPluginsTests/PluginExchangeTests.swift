import Byway
import HTTPTypes
import Testing

@testable import BywayPlugins

/// An exchange of a plugin by itself.
@Suite("Exchange of a plugin") struct PluginExchangeTests {
  @Test("a plugin that was given up sends nothing on any more, also with a token that it still has")
  func closed() async throws {
    let seen = RequestCount()
    let next = Next([][...]) { _ in
      seen.add()
      return Response(status: .ok)
    }
    let request = try Request(.post, url: "http://device/")
    let exchange = PluginExchange(request, next: next, PluginSettings(name: "slow"))
    #expect(try await exchange.forward(request).status == .ok)
    #expect(exchange.close())
    let error = await #expect(throws: BywayError.self) { try await exchange.forward(request) }
    #expect(error?.code == .forbidden && seen.count == 1)
    // Without such a request, it can go on without the plugin.
    #expect(!PluginExchange(request, next: next, PluginSettings(name: "slow")).close())
  }
}
