import Byway
import HTTPTypes
import Logging
import NIOCore
import Synchronization

/// The index and the bodies of a cache, kept in step. A failure of the storage costs a stored response, never an
/// exchange.
final class CacheStore: Sendable {
  private let index: Mutex<CacheIndex>
  private let storage: any CacheStorage
  private let kind: Cache.Kind
  private let logger: Logger
  /// Bytes of one body.
  private let bodyLimit: Int

  /// - Parameter responses: what the storage has already.
  init(
    _ storage: any CacheStorage, of kind: Cache.Kind, holding responses: [StoredResponse], limit: Int, bodyLimit: Int,
    logger: Logger
  ) {
    var index = CacheIndex(limit: limit)
    for response in responses { index.restore(response) }
    self.index = Mutex(index)
    self.storage = storage
    self.kind = kind
    self.bodyLimit = min(bodyLimit, limit)
    self.logger = logger
  }

  /// Of those stored for a URL the one that the request selects, the latest where several fit (RFC 9111 §4.1).
  func response(for key: String, _ request: HTTPFields) -> StoredResponse? {
    index.withLock { index in
      let fitting = index.responses(for: key).filter { $0.isSelected(by: request) }
      let latest = fitting.max { ($0.date, $0.id) < ($1.date, $1.id) }
      if let latest { index.touch(latest.id) }
      return latest
    }
  }

  /// The body of a stored response; `nil` where it has gone.
  func body(of response: StoredResponse) async -> Body? {
    do {
      return try await storage.body(of: response.id)
    } catch {
      await remove(response.key)
      return nil
    }
  }

  /// A place for a response that is about to be asked for. What makes the URL doubtful in the meantime makes this place
  /// so too.
  func reserve(_ key: String) -> Reservation {
    Reservation(id: index.withLock { $0.reserve(key) }, key: key) { id in
      self.index.withLock { $0.cancelReservation(id) }
    }
  }

  /// Takes in a stored response's new head.
  func update(_ response: StoredResponse) async {
    guard index.withLock({ $0.update(response) }) else { return }
    await save(response.id)
    await storage.delete(index.withLock { $0.evict() })
  }

  func remove(_ key: String) async {
    await storage.delete(index.withLock { $0.remove(key) })
  }

  func removeAll() async {
    await storage.delete(index.withLock { $0.removeAll() })
  }

  var size: Int { index.withLock { $0.size } }

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

  /// The response's body, which is stored as it passes: whole, or not at all.
  func storing(_ body: Body, of response: StoredResponse, in reservation: Reservation) async -> Body {
    if let length = body.length, length > bodyLimit { return body }
    do {
      let writer = try await storage.writer(for: reservation.id)
      let recording = CacheRecording(writer, expecting: body.length, limit: bodyLimit) { length in
        // Holds the place until here.
        withExtendedLifetime(reservation) {}
        var whole = response
        whole.length = length
        await self.storage.delete(self.index.withLock { $0.insert(whole) })
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

  /// For the next start, in the form that it has by now; it may have gone as well.
  private func save(_ id: UInt64) async {
    guard let response = index.withLock({ $0.response(id) }) else { return }
    do {
      try await storage.save(response, in: kind)
    } catch {
      logger.warning("The cache cannot keep a response.", metadata: ["error": "\(error)"])
      await remove(response.key)
    }
  }
}
