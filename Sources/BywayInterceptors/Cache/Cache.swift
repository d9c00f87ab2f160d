public import Byway
import HTTPTypes
public import Logging
package import Primitives

/// A cache (RFC 9111), in memory or on disk: a private one for a program or proxy of one user, a shared one wherever
/// others can send requests too.
///
/// It serves what is fresh, asks the origin whether what is stale still holds, and stores what may be stored while it
/// streams to the caller. When the origin or the link fails, it serves what is stale where nobody forbids that.
/// `Cache-Status` (RFC 9211) on each response says what it did. It stands best behind ``Canonicalize`` and in front of
/// ``Authenticate``.
public struct Cache: Interceptor {
  /// Whose requests it answers (RFC 9111 §1).
  public enum Kind: Sendable, Hashable {
    /// One user's alone: it keeps what is meant for that user.
    case `private`
    /// Those of any number of users, none of whom may get what was meant for another.
    case shared
  }

  /// Whose cache it is, how much it keeps, and when stale responses may serve.
  public struct Configuration: Sendable {
    /// Whose requests it answers; ``Kind/private`` by default.
    public var kind = Kind.private
    /// Where requests go that are for the far end of a link. What one link has answered is no answer of another, and one
    /// folder may be used with several in turn.
    public var link = ""
    /// Of everything stored, in bytes.
    public var limit = 64 << 20
    /// Of one body, in bytes; a larger one passes by.
    public var bodyLimit = 16 << 20
    /// How long a response may serve after it has become stale, where the origin fails and has not said how long
    /// (RFC 9111 §4.2.4, RFC 5861 §4).
    public var staleIfError = Duration.seconds(7 * 86_400)
    /// Asked at each request: `true` while there is no way to the origin. What is stored then has to do, however old,
    /// and what is not is a 504.
    public var isOffline: @Sendable () -> Bool = { false }
    /// Takes failures of the disk. Silent by default.
    public var logger = Logger(label: "byway.cache", factory: { _ in SwiftLogNoOpLogHandler() })

    /// A private cache of 64 MiB, with bodies of up to 16 MiB. Where an origin fails, what is stale may serve for a week.
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

  /// A cache in memory.
  public init(scope: Scope = .everything, configuration: Configuration = .defaults) {
    self.init(scope: scope, configuration: configuration, now: { .now() })
  }

  /// A cache on disk, with what an earlier process left in one of its kind. Blocks while it looks at that.
  /// - Parameters:
  ///   - folder: made where there is none; nobody else can look into it.
  ///   - scope: which requests it takes part in.
  ///   - configuration: what it keeps; responses of the other ``Kind`` that are in the folder are deleted.
  /// - Throws: `BywayError` where the folder cannot be used, others can write to it, or another process uses it.
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

  package var kind: Kind { configuration.kind }

  /// The same store for the requests of another link.
  package func serving(_ link: String, logger: Logger) -> Cache {
    var configuration = configuration
    configuration.link = link
    configuration.logger = logger
    return Cache(store: store, scope: scope, configuration: configuration, now: now)
  }

  /// Bytes stored.
  public var size: Int { store.size }

  /// Forgets everything.
  public func removeAll() async {
    await store.removeAll()
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    let key = CacheKey(
      TargetURI(request.head), at: next.destination(of: request), for: request.visitor, over: configuration.link
    ).text
    let head = request.head
    // What a GET's body means is between its ends, and an upgrade is not a response at all.
    guard CacheRules.isLookedUp(head), request.body.isKnownEmpty, !head.headerFields.contains(.upgrade) else {
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
