import Byway
import HTTPTypes
import Logging
import NIOCore
import Synchronization

/// The index and the bodies of a cache, kept consistent. A failure of the storage costs a stored response, never an exchange.
final class CacheStore: Sendable {
  private struct State {
    var index: CacheIndex
    var saves = PendingSaves()
  }

  private let state: Mutex<State>
  private let storage: any CacheStorage
  private let kind: CacheKind
  private let logger: Logger
  /// The limit of one body, in bytes.
  private let bodyLimit: Int

  /// - Parameter responses: The responses that the storage has already.
  init(
    _ storage: any CacheStorage, of kind: CacheKind, holding responses: [StoredResponse], limit: Int, bodyLimit: Int,
    logger: Logger
  ) {
    var index = CacheIndex(limit: limit)
    for response in responses { index.restore(response) }
    state = Mutex(State(index: index))
    self.storage = storage
    self.kind = kind
    self.bodyLimit = min(bodyLimit, limit)
    self.logger = logger
  }

  /// Finds the stored response of a URL that the request selects, the latest if several fit (RFC 9111 §4.1).
  func response(for key: String, _ request: HTTPFields) -> StoredResponse? {
    state.withLock { state in
      let fitting = state.index.responses(for: key).filter { $0.isSelected(by: request) }
      let latest = fitting.max { ($0.date, $0.id) < ($1.date, $1.id) }
      if let latest { state.index.touch(latest.id) }
      return latest
    }
  }

  /// Opens the body of a stored response.
  /// - Returns: `nil` if it is gone. A newer response may have taken its place, and stays.
  func body(of response: StoredResponse) async -> Body? {
    do {
      return try await storage.body(of: response.id)
    } catch {
      await updateIndex { $0.remove(response.id) }
      return nil
    }
  }

  /// Reserves a number for a response that is about to be requested. If the URL is invalidated meanwhile, so is the reservation.
  func reserve(_ key: String) -> Reservation {
    Reservation(id: state.withLock { $0.index.reserve(key) }, key: key) { id in
      self.state.withLock { $0.index.cancelReservation(id) }
    }
  }

  /// Replaces the head of a stored response.
  func update(_ response: StoredResponse) async {
    guard state.withLock({ $0.index.update(response) }) else { return }
    await save(response.id)
    await updateIndex { $0.evict() }
  }

  func remove(_ key: String) async {
    await updateIndex { $0.remove(key) }
  }

  func removeAll() async {
    await updateIndex { $0.removeAll() }
  }

  /// Changes the index, and deletes the files of the responses that it has removed, except those that are being saved.
  private func updateIndex(_ change: (inout CacheIndex) -> [UInt64]) async {
    await storage.delete(state.withLock { $0.saves.markRemoved(change(&$0.index)) })
  }

  var size: Int { state.withLock { $0.index.size } }

  /// A response on its way into the cache.
  final class Reservation: Sendable {
    let id: UInt64
    let key: String
    private let cancel: @Sendable (UInt64) -> Void

    fileprivate init(id: UInt64, key: String, cancel: @escaping @Sendable (UInt64) -> Void) {
      self.id = id
      self.key = key
      self.cancel = cancel
    }

    deinit {
      cancel(id)
    }
  }

  /// Returns the response's body, which is stored as it passes: completely, or not at all.
  func storing(_ body: Body, of response: StoredResponse, in reservation: Reservation) async -> Body {
    if let length = body.length, length > bodyLimit { return body }
    do {
      let writer = try await storage.writer(for: reservation.id)
      let recording = CacheRecording(writer, expecting: body.length, limit: bodyLimit) { length in
        // Keeps the reservation until here.
        withExtendedLifetime(reservation) {}
        var whole = response
        whole.length = length
        await self.updateIndex { $0.insert(whole) }
      } ended: {
        await self.save(response.id)
      }
      if body.isKnownEmpty {
        await recording.finish(nil)
        return body
      }
      return body.recorded(by: recording)
    } catch {
      logger.warning("The cache cannot keep a response.", metadata: ["error": "\(error)"])
      return body
    }
  }

  /// Saves a response for the next start, in its current form, unless the cache has removed it.
  private func save(_ id: UInt64) async {
    let begins = state.withLock { $0.index.response(id) != nil && $0.saves.begin(id) }
    guard begins else { return }
    var next = PendingSaves.Next.saveAgain
    while case .saveAgain = next {
      if let response = state.withLock({ $0.index.response(id) }) {
        do {
          try await storage.save(response, in: kind)
        } catch {
          logger.warning("The cache cannot keep a response.", metadata: ["error": "\(error)"])
          await updateIndex { $0.remove(id) }
        }
      }
      next = state.withLock { $0.saves.end(id) }
    }
    if case .delete = next { await storage.delete([id]) }
  }
}
