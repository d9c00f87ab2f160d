import Byway
import HTTPTypes
import TestTools
import Testing

@testable import BywayPlugins

/// The running exchanges of a plugin, and their tokens.
@Suite("Running exchanges of a plugin", .timeLimit(.minutes(1))) struct PluginExchangesTests {
  private let exchanges = RunningExchanges()

  /// Adds an exchange whose next hop answers with a text.
  private func add(_ text: String = "") throws -> RunningExchanges.Entry {
    let next = Next([][...]) { _ in Response(status: .ok, body: Body(text)) }
    let request = try Request(url: "http://device/")
    return try #require(exchanges.add(PluginExchange(request, next: next, PluginSettings(name: "busy"))))
  }

  private func answer(to token: String?) async throws -> String {
    var request = try Request(url: "http://device/")
    request.head.headerFields[.exchange] = token
    return try await exchanges.forward(request).text
  }

  private func refusal(of token: String?) async -> String? {
    let error = await #expect(throws: BywayError.self) { try await answer(to: token) }
    #expect(error?.code == .forbidden && error?.processing == BywayError.Processing.none)
    return error?.message
  }

  @Test("each token continues its own exchange, and the end of one leaves the others")
  func tokens() async throws {
    var first: RunningExchanges.Entry? = try add("first")
    let second = try add("second")
    let tokens = [try #require(first).token, second.token]
    for (token, text) in zip(tokens, ["first", "second"]) { #expect(try await answer(to: token) == text) }
    withExtendedLifetime(first) {}
    first = nil
    #expect(await refusal(of: tokens[0])?.contains("has ended") == true)
    #expect(try await answer(to: tokens[1]) == "second" && exchanges.count == 1)
    #expect(await refusal(of: nil)?.contains("byway-exchange") == true)
    #expect(await refusal(of: "")?.contains("has ended") == true)
    #expect(await refusal(of: tokens[1].uppercased() + "0")?.contains("has ended") == true)
    withExtendedLifetime(second) {}
  }

  @Test("no two tokens are equal, and each has 32 hexadecimal digits")
  func random() throws {
    let entries = try (0..<200).map { _ in try add() }
    let tokens = Set(entries.map(\.token))
    #expect(tokens.count == 200 && exchanges.count == 200)
    for half in [0, 16] {
      #expect(Set(tokens.map { $0.dropFirst(half).prefix(16) }).count == 200)
    }
    #expect(tokens.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy { "0123456789abcdef".contains($0) } })
    withExtendedLifetime(entries) {}
  }

  @Test("the table closes when its last exchange has ended and not before, or at once, and takes no more exchanges")
  func closing() async throws {
    var entry: RunningExchanges.Entry? = try add("first")
    let token = try #require(entry).token
    let cancelled = Task { await exchanges.closeWhenEmpty() }
    cancelled.cancel()
    await cancelled.value
    #expect(!exchanges.close(onlyIfEmpty: true))
    var second: RunningExchanges.Entry? = try add()
    let closed = Task { await exchanges.closeWhenEmpty() }
    withExtendedLifetime(second) {}
    second = nil
    #expect(try await answer(to: token) == "first" && exchanges.count == 1)
    withExtendedLifetime(entry) {}
    entry = nil
    await closed.value
    let next = Next([][...]) { _ in Response(status: .ok) }
    let exchange = PluginExchange(try Request(url: "http://device/"), next: next, PluginSettings(name: "busy"))
    #expect(exchanges.add(exchange) == nil && exchanges.count == 0 && exchanges.close(onlyIfEmpty: true))
    // Without a condition, running exchanges stay valid.
    let others = RunningExchanges()
    let running = try #require(others.add(exchange))
    #expect(others.close() && others.add(exchange) == nil && others.count == 1 && others[running.token] != nil)
  }

  @Test("the end of the last exchange ends all waits for it, and a cancelled wait ends by itself")
  func waiters() async throws {
    await exchanges.untilEmpty()
    var entry: RunningExchanges.Entry? = try add()
    let exchanges = exchanges
    let begun = RequestCount()
    let waits = (0..<3).map { _ in
      Task {
        begun.add()
        await exchanges.untilEmpty()
        return exchanges.count
      }
    }
    #expect(try await eventually { begun.count == 3 })
    try await settled(for: .milliseconds(20)) { begun.count }
    waits[0].cancel()
    #expect(await waits[0].value == 1)
    withExtendedLifetime(entry) {}
    entry = nil
    for wait in waits.dropFirst() { #expect(await wait.value == 0) }
    // A second time.
    entry = try add()
    let again = Task { await exchanges.untilEmpty() }
    try await settled(for: .milliseconds(20)) { exchanges.count }
    entry = nil
    await again.value
    #expect(exchanges.count == 0)
  }
}
