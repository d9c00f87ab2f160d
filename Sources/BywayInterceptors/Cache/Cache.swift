public import Byway
package import BywayPrimitives
import HTTPTypes
public import Logging

/// A cache (RFC 9111) in memory or on disk: a private one for a program or proxy of one user, a shared one if others can send
/// requests as well.
///
/// It serves fresh responses, validates stale ones with the origin, and stores responses while they stream to the caller. When the
/// origin or the link fails, it serves stale responses unless that is forbidden. `Cache-Status` (RFC 9211) on each response says
/// what it did. Place it after ``Canonicalize`` and before ``Authenticate``.
public struct Cache: Interceptor {
  /// The users of a cache, its limits, and the use of stale responses.
  public struct Configuration: Sendable {
    /// The users whose requests it answers; ``CacheKind/private`` by default.
    public var kind = CacheKind.private
    /// The link for requests to its far end. Responses from one link are not used for another, and one folder may be used with
    /// several links in turn.
    public var link = ""
    /// The limit of everything stored, in bytes.
    public var limit = 64 << 20
    /// The limit of one body, in bytes; a larger one is not stored.
    public var bodyLimit = 16 << 20
    /// How long a stale response may be served if the origin fails and has not said how long (RFC 9111 §4.2.4, RFC 5861 §4).
    public var staleIfError = Duration.seconds(7 * 86_400)
    /// Called at each request; returns `true` while the origin cannot be reached. Stored responses are then served, however old,
    /// unless they must be validated first. Other requests get a 504.
    public var isOffline: @Sendable () -> Bool = { false }
    /// The logger for failures of the disk. Silent by default.
    public var logger = Logger(label: "byway.cache", factory: { _ in SwiftLogNoOpLogHandler() })

    /// A private cache of 64 MiB, with bodies of up to 16 MiB. If an origin fails, stale responses may be served for a week.
    public static var defaults: Configuration { Configuration() }

    /// The same as ``defaults``.
    public init() {}
  }

  public let scope: Scope
  let configuration: Configuration
  let store: CacheStore
  let rules: CacheRules
  let refreshes = Refreshes()
  let now: @Sendable () -> WallTime

  /// Creates a cache in memory.
  public init(scope: Scope = .everything, configuration: Configuration = .defaults) {
    self.init(scope: scope, configuration: configuration, now: { .now() })
  }

  /// Creates a cache on disk, with the responses that an earlier process left in one of its kind. Blocks while it reads them.
  /// - Parameters:
  ///   - folder: The folder, which is created if it does not exist. Only its user can access it.
  ///   - scope: The requests that it applies to.
  ///   - configuration: The configuration; responses of the other ``CacheKind`` that are in the folder are deleted.
  /// - Throws: `BywayError` if the folder cannot be used, others can write to it, or another process uses it.
  public init(folder: String, scope: Scope = .everything, configuration: Configuration = .defaults) throws {
    try self.init(folder: folder, scope: scope, configuration: configuration, now: { .now() })
  }

  package init(
    scope: Scope = .everything, configuration: Configuration = .defaults, now: @escaping @Sendable () -> WallTime
  ) {
    let store = CacheStore(
      MemoryStorage(), of: configuration.kind, holding: [], limit: configuration.limit,
      bodyLimit: configuration.bodyLimit,
      logger: configuration.logger)
    self.init(store: store, scope: scope, configuration: configuration, now: now)
  }

  package init(
    folder: String, scope: Scope = .everything, configuration: Configuration = .defaults,
    now: @escaping @Sendable () -> WallTime
  ) throws {
    let storage = try DiskStorage(folder)
    let store = CacheStore(
      storage, of: configuration.kind, holding: try storage.load(configuration.kind), limit: configuration.limit,
      bodyLimit: configuration.bodyLimit, logger: configuration.logger)
    self.init(store: store, scope: scope, configuration: configuration, now: now)
  }

  private init(
    store: CacheStore, scope: Scope, configuration: Configuration, now: @escaping @Sendable () -> WallTime
  ) {
    self.store = store
    self.scope = scope
    self.configuration = configuration
    rules = CacheRules(kind: configuration.kind)
    self.now = now
  }

  package var kind: CacheKind { configuration.kind }

  /// Returns a cache with the same store for the requests of another link.
  package func serving(_ link: String, logger: Logger) -> Cache {
    var configuration = configuration
    configuration.link = link
    configuration.logger = logger
    return Cache(store: store, scope: scope, configuration: configuration, now: now)
  }

  /// The number of bytes stored.
  public var size: Int { store.size }

  /// Removes everything.
  public func removeAll() async {
    await store.removeAll()
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    let key = CacheKey(
      TargetURI(request.head), at: next.destination(of: request), for: request.user, over: configuration.link
    ).text
    let head = request.head
    // Only the client and the origin know what a GET's body means.
    guard CacheRules.isLookedUp(head), request.body.isKnownEmpty else {
      return try await pass(request, next: next)
    }
    let stored = store.response(for: key, head.headerFields)
    let isOffline = configuration.isOffline()
    switch rules.decision(for: head, stored: stored, now: now(), isOffline: isOffline) {
    case .serve:
      if let stored, let answer = await answer(stored, to: head, .hit) { return answer }
    case .serveAndRefresh:
      if let stored, let answer = await answer(stored, to: head, .hit) {
        refreshes.run(key) { await refresh(stored, request, next: next) }
        return answer
      }
    case .validate:
      if let stored { return try await validate(stored, for: request, next: next) }
    case .unsatisfiable:
      return unsatisfiable(isOffline: isOffline)
    case .forward:
      break
    }
    return isOffline
      ? unsatisfiable(isOffline: true) : try await fetch(request, key: key, instead: nil, .miss, next: next)
  }
}
