import Byway
package import HTTPTypes
import Synchronization

/// A rule of an inspector's user for some requests.
package protocol LiveRule: Sendable {
  static var terms: RuleTerms { get }

  /// The number of bytes of its texts.
  var byteCount: Int { get }

  func matches(_ request: HTTPRequest) -> Bool
}

/// The name of a kind of rules, and its limits.
package struct RuleTerms: Sendable {
  package let name: String
  /// The maximum number of rules at once.
  let count: Int
  /// The maximum numbers of bytes of the text in one rule, and in all of them.
  package let size: Int
  let totalSize: Int

  package init(_ name: String, count: Int, size: Int = 64 << 10, totalSize: Int = 1 << 20) {
    (self.name, self.count, self.size, self.totalSize) = (name, count, size, totalSize)
  }
}

/// The rules of one kind that are in force. Safe on any thread.
package final class RuleList<Rule: LiveRule>: Sendable {
  package struct Entry: Sendable {
    package let id: Int
    package let rule: Rule
    /// The number of requests that it has affected.
    package fileprivate(set) var hits = 0
  }

  private struct State {
    var entries: [Entry] = []
    var next = 1
  }

  private let state = Mutex(State())
  /// The number of rules, which is read for each request.
  private let total = Atomic(0)

  package init() {}

  package var count: Int { total.load(ordering: .relaxed) }

  /// The rules in the order in which they were added.
  package var entries: [Entry] { state.withLock(\.entries) }

  /// Adds a rule.
  /// - Returns: Its id.
  /// - Throws: `BywayError` with code `refused` if there are too many, and `tooLarge` if they are too large.
  @discardableResult
  package func add(_ rule: Rule) throws -> Int {
    let (terms, size) = (Rule.terms, rule.byteCount)
    guard size <= terms.size else {
      throw BywayError(
        .tooLarge, "A \(terms.name) has \(size) bytes of text: at most \(terms.size >> 10) KiB.", processing: .none)
    }
    return try state.withLock { state in
      guard state.entries.count < terms.count else {
        throw BywayError(.refused, "There are \(terms.count) \(terms.name)s already: remove one.", processing: .none)
      }
      guard state.entries.reduce(size, { $0 + $1.rule.byteCount }) <= terms.totalSize else {
        throw BywayError(
          .tooLarge, "All \(terms.name)s together have at most \(terms.totalSize >> 20) MiB of text: remove one.",
          processing: .none)
      }
      defer { state.next += 1 }
      state.entries.append(Entry(id: state.next, rule: rule))
      total.store(state.entries.count, ordering: .relaxed)
      return state.next
    }
  }

  /// Removes a rule. Requests that are under way keep its effect.
  /// - Returns: Whether there was one.
  package func remove(_ id: Int) -> Bool {
    state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return false }
      state.entries.remove(at: index)
      total.store(state.entries.count, ordering: .relaxed)
      return true
    }
  }

  /// Returns the rules that match a request, and counts it.
  func all(for request: HTTPRequest) -> [Rule] {
    state.withLock { state in
      let matching = state.entries.indices.filter { state.entries[$0].rule.matches(request) }
      for index in matching { state.entries[index].hits += 1 }
      return matching.map { state.entries[$0].rule }
    }
  }

  /// Returns the first rule that matches a request and a condition, and counts it.
  package func first(for request: HTTPRequest, where condition: (Rule) -> Bool = { _ in true }) -> Rule? {
    state.withLock { state in
      guard let index = state.entries.firstIndex(where: { condition($0.rule) && $0.rule.matches(request) }) else {
        return nil
      }
      state.entries[index].hits += 1
      return state.entries[index].rule
    }
  }
}
