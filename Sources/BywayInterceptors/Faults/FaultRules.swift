package import Byway
import HTTPTypes
import Synchronization

/// An interceptor that injects the faults requested through the inspector: it slows requests down, answers in place of the far end,
/// and cuts responses off.
///
/// Safe on any thread. While there are no fault rules, requests bypass it.
package final class FaultRules: OccasionalInterceptor {
  /// A fault rule that is in force.
  package struct Entry: Sendable {
    package let id: Int
    package let faultRule: FaultRule
    /// The number of requests that it has affected.
    package fileprivate(set) var hits = 0
  }

  private struct State {
    var entries: [Entry] = []
    var next = 1
    var version = 0
  }

  /// The limit of fault rules at once. For more, write an interceptor.
  private static let limit = 50
  /// The limits of the text in one fault rule, and in all of them, in bytes.
  package static let sizeLimit = 64 << 10
  private static let totalLimit = 1 << 20

  private let state = Mutex(State())
  /// Read for each request.
  private let isInForce = Atomic(false)
  private let clock: any Clock<Duration>

  package init(clock: any Clock<Duration> = ContinuousClock()) {
    self.clock = clock
  }

  package var isNeeded: Bool { isInForce.load(ordering: .relaxed) }

  /// The fault rules in the order in which they were added, and a number that changes with each change of them.
  package var all: (entries: [Entry], version: Int) { state.withLock { ($0.entries, $0.version) } }

  /// Adds a fault rule.
  /// - Returns: Its id.
  /// - Throws: `BywayError` with code `refused` if there are too many, and `tooLarge` if they are too large.
  package func add(_ faultRule: FaultRule) throws -> Int {
    let size = faultRule.byteCount
    guard size <= Self.sizeLimit else {
      throw BywayError(
        .tooLarge, "A fault rule has \(size) bytes of text: at most \(Self.sizeLimit >> 10) KiB.", processing: .none)
    }
    return try state.withLock { state in
      guard state.entries.count < Self.limit else {
        throw BywayError(.refused, "There are \(Self.limit) fault rules already: remove one.", processing: .none)
      }
      guard state.entries.reduce(size, { $0 + $1.faultRule.byteCount }) <= Self.totalLimit else {
        throw BywayError(
          .tooLarge, "All fault rules together have at most \(Self.totalLimit >> 20) MiB of text: remove one.",
          processing: .none)
      }
      defer { state.next += 1 }
      state.entries.append(Entry(id: state.next, faultRule: faultRule))
      changed(&state)
      return state.next
    }
  }

  /// Removes a fault rule. Requests that are under way keep its effect.
  /// - Returns: Whether there was one.
  package func remove(_ id: Int) -> Bool {
    state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return false }
      state.entries.remove(at: index)
      changed(&state)
      return true
    }
  }

  private func changed(_ state: inout State) {
    state.version += 1
    isInForce.store(!state.entries.isEmpty, ordering: .relaxed)
  }

  // MARK: Requests

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    let effects = effects(on: request)
    guard !effects.isEmpty else { return try await next(request) }
    // The data in a tunnel is not a body that could be slowed down or cut.
    let isTunnel = request.head.method == .connect || request.head.headerFields.contains(.upgrade)
    var request = request
    for effect in effects {
      switch effect {
      case .delay(let time): try await clock.sleep(for: time, tolerance: nil)
      case .answer(let status):
        return Self.answer(status).answering(request.head)
      case .pace(let pace) where !isTunnel: request.body = request.body.throttled(to: pace, clock: clock)
      case .pace, .cut: break
      }
    }
    var response = try await next(request)
    if isTunnel { return response }
    for effect in effects {
      switch effect {
      case .pace(let pace): response.body = response.body.throttled(to: pace, clock: clock)
      case .cut(let count): response.body = response.body.cut(after: count)
      case .delay, .answer: break
      }
    }
    return response
  }

  private static func answer(_ status: HTTPResponse.Status) -> Response {
    // These responses have no content, and so no type of it (RFC 9110 §15.3.5, §15.4.5).
    if status.code == 204 || status.code == 304 { return Response(status: status) }
    return Response(
      status: status, fields: [.contentType: "text/plain; charset=utf-8"],
      body: Body("The inspector answers this in the far end's place.\n"))
  }

  private func effects(on request: Request) -> [FaultRule.Effect] {
    state.withLock { state in
      var effects: [FaultRule.Effect] = []
      for index in state.entries.indices where state.entries[index].faultRule.scope.contains(request.head) {
        state.entries[index].hits += 1
        effects.append(state.entries[index].faultRule.effect)
      }
      return effects
    }
  }
}
