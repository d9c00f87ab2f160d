import Byway
import BywayPrimitives
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayInterceptors

/// Responses that the cache removes while they are being written to disk.
@Suite("Responses during a save to disk", .timeLimit(.minutes(1))) struct CacheStoreTests {
  private let storage = GatedStorage()
  private let log = LogRecord()
  private let store: CacheStore

  init() {
    store = CacheStore(
      storage, of: .shared, holding: [], limit: 1 << 20, bodyLimit: 1 << 20, logger: log.logger)
  }

  private func response(_ id: UInt64, _ key: String, accept: String? = nil, server: String = "") -> StoredResponse {
    StoredResponse(
      id: id, key: key, status: 200, fields: [.server: server], selecting: accept.map { ["accept": $0] } ?? [:],
      requested: CacheRig.start, received: CacheRig.start, length: 0)
  }

  /// Reads a response through the cache until its save has ended.
  @discardableResult
  private func read(_ key: String = "a", accept: String? = nil) async throws -> UInt64 {
    let reservation = store.reserve(key)
    let body = await store.storing(
      Body("content"), of: response(reservation.id, key, accept: accept), in: reservation)
    for try await _ in body {}
    return reservation.id
  }

  @Test("a newer response is kept, and the older one deleted only after its save has ended")
  func replaced() async throws {
    async let first = read()
    await storage.saves.entered(1)
    async let second = read()
    await storage.saves.entered(2)
    #expect(storage.files == [1, 2])
    #expect(store.response(for: "a", [:])?.id == 2)
    await storage.saves.open()
    _ = try await (first, second)
    #expect(storage.files == [2] && storage.heads.keys.sorted() == [2])
    #expect(store.response(for: "a", [:])?.id == 2)
    #expect(log.messages.isEmpty, "\(log.messages)")
  }

  @Test("the stored response of a removed URL is deleted when its save has ended", arguments: [false, true])
  func removed(_ all: Bool) async throws {
    async let first = read()
    await storage.saves.entered(1)
    if all { await store.removeAll() } else { await store.remove("a") }
    #expect(storage.files == [1] && store.size == 0)
    await storage.saves.open()
    _ = try await first
    #expect(storage.files.isEmpty && storage.heads.isEmpty && log.messages.isEmpty)
  }

  @Test("a head that changes during a save is written again after it")
  func updated() async throws {
    async let first = read()
    await storage.saves.entered(1)
    await store.update(response(1, "a", server: "updated"))
    await store.update(response(1, "a", server: "again"))
    #expect(await storage.saves.count == 1)
    await storage.saves.open()
    _ = try await first
    #expect(storage.heads[1]?[.server] == "again" && storage.saveCount == 2)
    await store.update(response(1, "a", server: "later"))
    #expect(storage.heads[1]?[.server] == "later" && storage.saveCount == 3)
  }

  @Test("a response removed after its head changed during a save is not written again")
  func removedAfterUpdate() async throws {
    async let first = read()
    await storage.saves.entered(1)
    await store.update(response(1, "a", server: "updated"))
    await store.remove("a")
    await storage.saves.open()
    _ = try await first
    #expect(storage.files.isEmpty && storage.heads.isEmpty && storage.saveCount == 1)
  }

  @Test("a failed save drops its own response, and keeps others of the same URL")
  func failed() async throws {
    await storage.saves.open()
    try await read(accept: "x")
    storage.fail(2)
    try await read(accept: "y")
    #expect(log.messages.count == 1)
    #expect(storage.files == [1] && storage.heads.keys.sorted() == [1])
    #expect(store.response(for: "a", [.accept: "x"])?.id == 1 && store.response(for: "a", [.accept: "y"]) == nil)
    // The next response of the same length is stored as usual.
    try await read(accept: "y")
    #expect(storage.files == [1, 3])
  }

  @Test("a late reader of a replaced body does not remove the newer response")
  func late() async throws {
    await storage.saves.open()
    try await read()
    let old = try #require(store.response(for: "a", [:]))
    try await read()
    #expect(await store.body(of: old) == nil)
    #expect(store.response(for: "a", [:])?.id == 2 && storage.files == [2])
    // A response whose file is lost is removed.
    storage.lose(2)
    let new = try #require(store.response(for: "a", [:]))
    #expect(await store.body(of: new) == nil)
    #expect(store.response(for: "a", [:]) == nil && store.size == 0)
  }
}

/// A storage in memory whose saves wait at a gate.
private final class GatedStorage: CacheStorage {
  private struct State {
    var files: Set<UInt64> = []
    var heads: [UInt64: HTTPFields] = [:]
    var failing: UInt64?
    var saveCount = 0
  }

  private let state = Mutex(State())
  let saves = Gate()

  var files: Set<UInt64> { state.withLock { $0.files } }
  var heads: [UInt64: HTTPFields] { state.withLock { $0.heads } }
  var saveCount: Int { state.withLock { $0.saveCount } }

  func fail(_ id: UInt64) { state.withLock { $0.failing = id } }
  func lose(_ id: UInt64) { state.withLock { _ = $0.files.remove(id) } }

  func writer(for id: UInt64) -> any CacheWriter {
    Writer { self.state.withLock { _ = $0.files.insert(id) } }
  }

  func body(of id: UInt64) throws -> Body {
    guard files.contains(id) else { throw Missing() }
    return Body("content")
  }

  func save(_ response: StoredResponse, in kind: CacheKind) async throws {
    await saves.pass()
    try state.withLock { state in
      state.saveCount += 1
      guard state.files.contains(response.id), state.failing != response.id else { throw Missing() }
      state.heads[response.id] = response.fields
    }
  }

  func delete(_ ids: [UInt64]) {
    state.withLock { state in
      for id in ids {
        state.files.remove(id)
        state.heads[id] = nil
      }
    }
  }

  private struct Missing: Error {}

  private struct Writer: CacheWriter {
    let keep: @Sendable () -> Void
    func write(_ chunk: ByteBuffer) {}
    func finish() { keep() }
  }
}

/// A gate at which tasks wait until it opens.
private actor Gate {
  private var isOpen = false
  private(set) var count = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []

  func pass() async {
    count += 1
    for watcher in watchers where watcher.count <= count { watcher.1.resume() }
    watchers.removeAll { $0.count <= count }
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  /// Waits until `count` tasks have arrived.
  func entered(_ count: Int) async {
    if self.count < count { await withCheckedContinuation { watchers.append((count, $0)) } }
  }

  func open() {
    isOpen = true
    for task in waiting { task.resume() }
    waiting = []
  }
}
