import Byway
import BywayHTTPWire
import HTTPTypes
import NIOCore
import NIOEmbedded
import Testing

@testable import BywayInterceptors

/// Faults that are injected on purpose.
@Suite("Fault rules") struct FaultRulesTests {
  private let page = String(repeating: "0123456789", count: 20)

  @Test("fault rules delay requests and slow down bodies by the given amount, measured with a virtual clock")
  func slower() async throws {
    let clock = VirtualClock()
    let faultRules = FaultRules(clock: clock)
    _ = try faultRules.list.add(FaultRule(.delay(.seconds(2))))
    _ = try faultRules.list.add(FaultRule(.pace(100), of: Scope(paths: ["/slow"])))
    let next = Next([][...], terminal: { _ in Response(status: .ok, body: Body(page)) })
    let quick = try await faultRules.intercept(Request(url: "http://localhost/"), next: next)
    #expect(String(buffer: try await quick.body.collect(upTo: 1000)) == page)
    #expect(clock.elapsed == .seconds(2))
    let slow = try await faultRules.intercept(Request(url: "http://localhost/slow"), next: next)
    #expect(String(buffer: try await slow.body.collect(upTo: 1000)) == page)
    #expect(clock.elapsed == .seconds(6))
    #expect(faultRules.list.entries.map(\.hits) == [2, 1])
  }

  @Test("a cut rule truncates a longer body, and leaves a shorter one whole")
  func cut() async throws {
    let faultRules = FaultRules()
    _ = try faultRules.list.add(FaultRule(.cut(200)))
    let (page, pieces) = (page, TwoPieces())
    let whole = Next([][...], terminal: { _ in Response(status: .ok, body: Body(page)) })
    let response = try await faultRules.intercept(Request(url: "http://localhost/"), next: whole)
    #expect(String(buffer: try await response.body.collect(upTo: 1000)) == page)
    let more = Next([][...], terminal: { _ in Response(status: .ok, body: Body(pieces)) })
    var came = 0
    let error = await #expect(throws: BywayError.self) {
      for try await chunk in try await faultRules.intercept(Request(url: "http://localhost/"), next: more).body {
        came += chunk.readableBytes
      }
    }
    #expect(came == 200 && error?.code == .incompleteResponse)
  }

  @Test("fault rules do not slow down or cut tunnels")
  func tunnel() async throws {
    let faultRules = FaultRules()
    _ = try faultRules.list.add(FaultRule(.cut(0)))
    let page = page
    let next = Next([][...], terminal: { _ in Response(status: .ok, body: Body(page)) })
    let head = HTTPRequest(method: .connect, scheme: nil, authority: "a:1", path: nil)
    let response = try await faultRules.intercept(Request(head), next: next)
    #expect(String(buffer: try await response.body.collect(upTo: 1000)) == page)
  }

  @Test("the interceptor is active only while there are fault rules")
  func needed() throws {
    let faultRules = FaultRules()
    #expect(!faultRules.isNeeded)
    let id = try faultRules.list.add(FaultRule(.cut(0)))
    #expect(faultRules.isNeeded)
    #expect(faultRules.list.remove(id) && !faultRules.list.remove(id) && !faultRules.isNeeded)
  }
}

private struct TwoPieces: AsyncSequence, Sendable {
  func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }

  struct AsyncIterator: AsyncIteratorProtocol {
    var left = 2

    mutating func next() async throws -> ByteBuffer? {
      defer { left -= 1 }
      return left > 0 ? ByteBuffer(repeating: 1, count: 150) : nil
    }
  }
}
