import Byway
import HTTPTypes
import TestTools
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

  @Test("a plugin that sends several requests on may pass on a field of Byway from each of the responses")
  func severalResponses() async throws {
    let coding = try #require(HTTPField.Name("byway-coding"))
    let next = Next([][...]) { request in
      Response(status: .ok, fields: [coding: request.head.path == "/first" ? "gzip" : "br"])
    }
    let request = try Request(url: "http://device/first")
    let exchange = PluginExchange(request, next: next, PluginSettings(name: "twice"))
    for path in ["/first", "/second"] {
      var sent = request
      sent.head.path = path
      #expect(try await exchange.forward(sent).status == .ok)
    }
    try exchange.check([coding: "gzip"])
    try exchange.check([coding: "br"])
    #expect(throws: ForwardingRules.Refusal.self) { try exchange.check([coding: "zstd"]) }
  }

  @Test("the end of a plugin waits for the last of its exchanges, whichever end before")
  func last() async throws {
    let next = Next([][...]) { _ in Response(status: .ok) }
    let request = try Request(url: "http://device/")
    let exchanges = RunningExchanges()
    func add() -> RunningExchanges.Entry? {
      exchanges.add(PluginExchange(request, next: next, PluginSettings(name: "busy")))
    }
    var long: RunningExchanges.Entry? = add()
    let end = Task {
      await exchanges.untilEmpty()
      return exchanges.count
    }
    // Others come and go, before and after the wait begins.
    var others = 0
    let haveEnded = try await eventually {
      withExtendedLifetime(add()) {}
      others += 1
      return others == 50
    }
    #expect(haveEnded && exchanges.count == 1)
    withExtendedLifetime(long) {}
    long = nil
    #expect(await end.value == 0)
  }
}
