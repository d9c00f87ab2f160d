import Byway
import BywayPrimitives
import NIOCore

/// Changes as server-sent events: states of exchanges and links, at most four times a second.
struct FeedEvents: AsyncSequence, Sendable {
  private static let pause = Duration.milliseconds(250)
  /// The maximum number of exchanges in one event. A reader with more to read is told how many are left, and catches up.
  private static let limit = 500
  /// The number of pauses without changes after which a comment is sent, to detect a dead connection.
  private static let silentPauses = 40

  private let feed: InspectorFeed
  private let version: UInt64
  private let slot: Slots<ObjectIdentifier>.Slot
  private let watcher: Breakpoints.Watcher?

  /// - Parameters:
  ///   - version: the last version that the reader has seen.
  ///   - watcher: the presence of a user; `nil` if the reader may not act.
  init(
    _ feed: InspectorFeed, after version: UInt64, _ slot: Slots<ObjectIdentifier>.Slot, _ watcher: Breakpoints.Watcher?
  ) {
    self.feed = feed
    self.version = version
    self.slot = slot
    self.watcher = watcher
  }

  func makeAsyncIterator() -> Iterator { Iterator(feed, after: version, slot, watcher) }

  struct Iterator: AsyncIteratorProtocol {
    private let feed: InspectorFeed
    /// Held as long as the client reads.
    private let slot: Slots<ObjectIdentifier>.Slot
    private let watcher: Breakpoints.Watcher?
    private var version: UInt64
    private var first: Int?
    private var linkVersion: UInt64 = 0
    private var linkTime: Double?
    private var isLeft = false
    private var rules = ActiveRules()

    fileprivate init(
      _ feed: InspectorFeed, after version: UInt64, _ slot: Slots<ObjectIdentifier>.Slot,
      _ watcher: Breakpoints.Watcher?
    ) {
      self.feed = feed
      self.version = version
      self.slot = slot
      self.watcher = watcher
    }

    mutating func next() async throws -> ByteBuffer? {
      for _ in 0..<FeedEvents.silentPauses {
        if !isLeft { try await Task.sleep(for: FeedEvents.pause) }
        let text = news()
        if !text.isEmpty { return ByteBuffer(string: text) }
      }
      return ByteBuffer(string: ":\n\n")
    }

    private mutating func news() -> String {
      let (known, limit) = (version, FeedEvents.limit)
      let news = feed.inspector.read { $0.news(after: known, limit: limit) }
      version = news.version
      isLeft = news.left > 0
      let id = feed.eventID(news.version)
      var text = ""
      // A reader that resumes after a while has missed removals too.
      if news.first > first ?? 1, known > 0 {
        text += FeedEvents.event("gone", id, ["before": .number(news.first)])
      }
      first = news.first
      if news.isCleared { text += FeedEvents.event("cleared", id, [:]) }
      if !news.changed.isEmpty {
        text += FeedEvents.event(
          "exchanges", id,
          [
            "exchanges": .array(news.changed.map(feed.view.json)), "left": isLeft ? .number(news.left) : nil,
          ])
      }
      return text + linkNews(id) + ruleNews(id)
    }

    /// A reader assumes that there are no rules until it is told.
    private mutating func ruleNews(_ id: String) -> String {
      let active = ActiveRules(feed.actions)
      guard active != rules else { return "" }
      rules = active
      return FeedEvents.event(
        "faults", id,
        [
          "rules": .number(active.faults), "breakpoints": .number(active.breakpoints), "stubs": .number(active.stubs),
          "pulled": .bool(active.isPulled),
        ])
    }

    private mutating func linkNews(_ id: String) -> String {
      let (known, time) = (linkVersion, linkTime)
      let links = feed.links.withLock(\.self)
      guard links.version > known else { return "" }
      linkVersion = links.version
      linkTime = WallTime.now().milliseconds
      let changed = links.entries.filter { $0.version > known }
      return FeedEvents.event("links", id, ["links": .array(changed.map { $0.json(after: time) })])
    }
  }

  fileprivate static func event(_ name: String, _ id: String, _ data: JSON) -> String {
    "event: \(name)\nid: \(id)\ndata: \(data)\n\n"
  }
}

/// The numbers of rules in force, which a page reminds its user of.
private struct ActiveRules: Sendable, Hashable {
  var faults = 0
  var breakpoints = 0
  var stubs = 0
  /// Whether the cable of the emulated line is unplugged.
  var isPulled = false

  init() {}

  init(_ actions: InspectorActions) {
    faults = actions.rules?.faults.list.count ?? 0
    breakpoints = actions.rules?.breakpoints.list.count ?? 0
    stubs = actions.rules?.stubs.list.count ?? 0
    isPulled = actions.line?.isPulled ?? false
  }
}
