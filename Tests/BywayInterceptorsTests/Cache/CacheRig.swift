import Byway
import BywayPrimitives
import HTTPTypes
import NIOCore
import Synchronization
import TestPeers

@testable import BywayInterceptors

/// A cache in front of an origin, in virtual time from 1 January 2030.
final class CacheRig: Sendable {
  let clock = VirtualClock()
  let origin: TestOrigin
  let cache: Cache
  let chain: Next

  /// - Parameter folder: the folder of the cache; in memory if `nil`.
  init(
    folder: String? = nil, _ change: (inout Cache.Configuration) -> Void = { _ in },
    _ respond: @escaping @Sendable (Request) async throws -> Response
  ) throws {
    let clock = clock
    let now: @Sendable () -> WallTime = { CacheRig.start + clock.elapsed }
    let offline = OfflineSwitch()
    var configuration = Cache.Configuration.defaults
    configuration.isOffline = { offline.isOn }
    change(&configuration)
    cache =
      if let folder { try Cache(folder: folder, configuration: configuration, now: now) } else {
        Cache(configuration: configuration, now: now)
      }
    origin = TestOrigin { request in
      var response = try await respond(request)
      // Like an origin, adds a date (RFC 9110 §6.6.1).
      if response.fields[.date] == nil { response.head.headerFields[.date] = now().httpDate }
      return response.answering(request.head)
    }
    chain = origin.behind(cache)
    self.offlineSwitch = offline
  }

  private let offlineSwitch: OfflineSwitch
  static let start = WallTime(sinceEpoch: .seconds(1_893_456_000))

  /// Returns the date `seconds` after the start, in HTTP's format.
  static func date(_ seconds: Int) -> String { (start + .seconds(seconds)).httpDate }

  func goOffline() { offlineSwitch.isOn = true }

  var count: Int { origin.heads.count }

  func advance(_ seconds: Int) { clock.advance(by: .seconds(seconds)) }

  /// Sends a GET. The response's fields can be checked by name.
  func get(_ path: String = "/", _ fields: HTTPFields = [:]) async throws -> Answer {
    try await send(.get, path, fields)
  }

  func send(_ method: HTTPRequest.Method, _ path: String = "/", _ fields: HTTPFields = [:]) async throws -> Answer {
    var request = try Request(method, url: "http://a" + path)
    request.head.headerFields = fields
    let response = try await chain(request)
    return Answer(status: response.status.code, fields: response.fields, text: try await response.text)
  }

  struct Answer {
    let status: Int
    let fields: HTTPFields
    let text: String

    var age: Int? { fields[.age].flatMap { Int($0) } }
    var cacheStatus: String { fields[.cacheStatus] ?? "" }
    /// Whether the response came from the cache.
    var isHit: Bool { cacheStatus.hasPrefix("byway; hit") }
  }
}

private final class OfflineSwitch: Sendable {
  private let value = Mutex(false)
  var isOn: Bool {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}

/// A counter, so that each response differs.
final class Counter: Sendable {
  private let count = Mutex(0)
  var next: Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
