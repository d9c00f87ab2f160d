import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import Byway
@testable import BywayInspector

/// The bodies of paused messages.
@Suite("Bodies of paused messages", .timeLimit(.minutes(1))) struct ReadBodyTests {
  private struct SourceError: Error {}

  private let budget = MemoryBudget(limit: 64 << 20)

  private func read(_ body: Body, of budget: MemoryBudget? = nil, isRead: Bool = true) -> ReadBody {
    ReadBody(body, PausedMemory(budget ?? self.budget).share(), isRead: isRead)
  }

  private func shown(_ body: ReadBody) -> String {
    switch body.content {
    case .arriving(let count): "arriving \(count)"
    case .whole(let bytes): "whole \(bytes.readableBytes)"
    case .partial(let count): "partial \(count)"
    }
  }

  private func text(_ body: Body) async throws -> String { String(buffer: try await body.collect(upTo: 8 << 20)) }

  @Test("a body that arrives in pieces is counted and then whole, and its reader gets it once with length and trailers")
  func pieces() async throws {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    let body = read(Body(pieces, length: 7, trailers: { [.eTag: "end"] }))
    #expect(shown(body) == "arriving 0" && body.count == 0)
    for (piece, count) in [("abc", 3), ("", 3), ("defg", 7)] {
      more.yield(ByteBuffer(string: piece))
      #expect(try await eventually { body.count == count })
      #expect(shown(body) == "arriving \(count)" && budget.held == count)
    }
    more.finish()
    #expect(try await eventually { shown(body) == "whole 7" })
    let whole = body.body
    #expect(whole.length == 7 && body.count == 7)
    #expect(try await text(whole) == "abcdefg")
    #expect(await whole.trailers()?[.eTag] == "end")
  }

  @Test("a body that can be read again is passed on as it was, and its pieces count no more when it is released")
  func replayable() async throws {
    var body: ReadBody? = read(Body("hello"))
    #expect(try await eventually { body.map(shown) == "whole 5" })
    let source = try #require(body?.body)
    for _ in 1...2 { #expect(try await text(source) == "hello") }
    #expect(source.isReplayable && source.length == 5 && budget.held == 5)
    body = nil
    #expect(try await eventually { budget.held == 0 })
  }

  @Test("a body that fails after its beginning gives its reader the beginning and the error")
  func failing() async throws {
    let (pieces, more) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    more.yield(ByteBuffer(string: "abc"))
    let body = read(Body(pieces))
    #expect(try await eventually { shown(body) == "arriving 3" })
    var chunks = body.body.makeAsyncIterator()
    more.yield(ByteBuffer(string: "d"))
    var seen = ""
    while seen.utf8.count < 4, let chunk = try await chunks.next() { seen += String(buffer: chunk) }
    #expect(seen == "abcd")
    more.finish(throwing: SourceError())
    await #expect(throws: SourceError.self) { try await chunks.next() }
  }

  @Test("a body that fails while it waits fails for its reader")
  func failed() async throws {
    let (pieces, more) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    let body = read(Body(pieces))
    more.finish(throwing: SourceError())
    await #expect(throws: SourceError.self) { try await text(body.body) }
  }

  private func next(_ number: borrowing Mutex<Int>) -> Int {
    number.withLock {
      $0 += 1
      return $0
    }
  }

  @Test("a body that declares more than 4 MiB is not read, and one of 4 MiB is", arguments: [4 << 20, (4 << 20) + 1])
  func declared(_ length: Int) async throws {
    let asked = Mutex(0)
    let body = read(
      Body(
        AsyncStream<ByteBuffer> {
          let number = next(asked)
          return number > 1 ? nil : ByteBuffer(repeating: 0x61, count: length)
        }, length: length))
    if length <= ReadBody.limit {
      #expect(try await eventually { shown(body) == "whole \(length)" })
    } else {
      #expect(shown(body) == "partial 0")
      try await settled(for: .milliseconds(30)) { asked.withLock(\.self) }
      #expect(asked.withLock(\.self) == 0 && budget.held == 0)
    }
    #expect(try await text(body.body).utf8.count == length)
  }

  @Test("a body without a length is read up to 4 MiB, and all of it passes")
  func endless() async throws {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    more.yield(ByteBuffer(repeating: 0x61, count: 4 << 20))
    let body = read(Body(pieces))
    #expect(try await eventually { shown(body) == "arriving \(4 << 20)" })
    more.yield(ByteBuffer(string: "b"))
    #expect(try await eventually { shown(body) == "partial \((4 << 20) + 1)" })
    more.yield(ByteBuffer(string: "c"))
    more.finish()
    try await settled(for: .milliseconds(30)) { body.count }
    #expect(shown(body) == "partial \((4 << 20) + 1)")
    let all = try await text(body.body)
    #expect(all.utf8.count == (4 << 20) + 2 && all.hasSuffix("abc"))
  }

  @Test("without room in memory, a body is read no further, and all of it passes")
  func noRoom() async throws {
    // A quarter is for paused bodies.
    let small = MemoryBudget(limit: 40)
    let memory = PausedMemory(small)
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    for piece in ["01234", "56789", "x", "y"] { more.yield(ByteBuffer(string: piece)) }
    more.finish()
    var body: ReadBody? = ReadBody(Body(pieces), memory.share())
    #expect(try await eventually { body.map(shown) == "partial 11" })
    #expect(small.held == 10)
    let source = try #require(body?.body)
    #expect(try await text(source) == "0123456789xy")
    body = nil
    _ = source
  }

  @Test("the room of released bodies is free again, all of it and more than once")
  func roomAgain() {
    let small = MemoryBudget(limit: 40)
    let memory = PausedMemory(small)
    for _ in 1...3 {
      let (first, second) = (memory.share(), memory.share())
      #expect(first.take(4) && first.take(3) && second.take(3))
      #expect(small.held == 10)
      #expect(!second.take(1) && !first.take(1) && second.take(0) && small.held == 10)
      withExtendedLifetime((first, second)) {}
    }
    #expect(small.held == 0)
    #expect(memory.share().take(10) && small.held == 0)
  }

  @Test("a stream is not read while it waits, and passes", arguments: [true, false])
  func unread(_ isReplayable: Bool) async throws {
    let asked = Mutex(0)
    let source = Body(
      AsyncStream<ByteBuffer> {
        asked.withLock { asked in
          asked += 1
          return asked > 2 ? nil : ByteBuffer(string: "\(asked)")
        }
      })
    let body = read(source, isRead: false)
    try await settled(for: .milliseconds(30)) { asked.withLock(\.self) }
    #expect(shown(body) == "partial 0" && asked.withLock(\.self) == 0)
    #expect(try await text(body.body) == "12")
    #expect(shown(read(.empty, isRead: isReplayable)) == "whole 0")
  }

  @Test("after the exchange has continued, nothing more is read until its reader asks")
  func stopped() async throws {
    let asked = Mutex(0)
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let body = read(
      Body(
        AsyncStream<ByteBuffer> {
          let number = next(asked)
          if number == 1 { for await _ in gate { break } }
          return number > 3 ? nil : ByteBuffer(string: "\(number)")
        }))
    #expect(try await eventually { asked.withLock(\.self) == 1 })
    let rest = body.body
    opening.yield()
    #expect(try await eventually { body.count == 1 })
    try await settled(for: .milliseconds(30)) { asked.withLock(\.self) }
    #expect(asked.withLock(\.self) == 1)
    #expect(try await text(rest) == "123")
  }

  @Test("a body without further references is released while it arrives")
  func dropped() async throws {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    more.onTermination = { _ in end.yield() }
    more.yield(ByteBuffer(string: "abc"))
    var body: ReadBody? = read(Body(pieces))
    #expect(try await eventually { body?.count == 3 })
    #expect(budget.held == 3)
    body = nil
    for await _ in ended { break }
    #expect(try await eventually { budget.held == 0 })
  }

  @Test("a reader that is cancelled stops the reading")
  func cancelled() async throws {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    more.onTermination = { _ in end.yield() }
    let body = read(Body(pieces))
    let reader = Task { [rest = body.body] in try await text(rest) }
    reader.cancel()
    for await _ in ended { break }
    _ = try? await reader.value
    withExtendedLifetime(body) {}
  }
}
