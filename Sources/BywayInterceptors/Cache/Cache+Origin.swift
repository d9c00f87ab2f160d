import Byway
import BywayPrimitives
import HTTPTypes
import NIOCore

/// Answers from the origin, and what the cache stores of them.
extension Cache {
  /// Forwards a request that no stored response can answer. It may invalidate some (RFC 9111 §4.4).
  func pass(_ request: Request, next: Next) async throws -> Response {
    let isSafe = CacheRules.isSafe(request.head.method)
    // A cache does not handle tunnels.
    guard !request.head.kind.asksForTunnel else { return try await next(request) }
    if configuration.isOffline() { return unsatisfiable(isOffline: true) }
    var response = try await next(request)
    let destination = next.destination(of: request)
    for target in CacheRules.invalidated(by: request.head, response.head) {
      await store.remove(CacheKey(target, at: destination, for: request.user, over: configuration.link).text)
    }
    CacheStatus.bypass(isSafe ? "request" : "method").add(to: &response.head)
    return response
  }

  /// Asks the origin, and stores what may be stored.
  func fetch(
    _ request: Request, key: String, instead stored: StoredResponse?, _ status: CacheStatus, next: Next
  ) async throws -> Response {
    let reservation = store.reserve(key)
    let requested = now()
    guard var response = try await attempt(request, next: next, saving: stored) else {
      return await saved(by: stored, request)
    }
    let received = now()
    if request.head.method == .head {
      let known = stored ?? store.response(for: key, request.head.headerFields)
      await take(response.head, to: request.head, as: known, requested, received)
    } else if rules.isStorable(response.head, to: request.head) {
      response.body = await keeping(response, to: request.head, in: reservation, requested, received)
    }
    status.forwarded(response.status.code).add(to: &response.head)
    return response
  }

  /// Validates a stored response with the origin (§4.3).
  func validate(_ stored: StoredResponse, for request: Request, next: Next) async throws -> Response {
    guard request.head.method == .get, let question = CacheRules.validation(of: stored, for: request.head) else {
      return try await fetch(request, key: stored.key, instead: stored, .stale, next: next)
    }
    var asking = request
    asking.head = question
    let reservation = store.reserve(stored.key)
    let requested = now()
    guard var response = try await attempt(asking, next: next, saving: stored) else {
      return await saved(by: stored, request)
    }
    let received = now()
    if response.status == .notModified {
      await response.discard()
      guard CacheRules.isConfirmation(response.head, of: stored) else {
        // It is about another version: nothing is known now.
        return try await fetch(request, key: stored.key, instead: nil, .stale, next: next)
      }
      let updated = rules.updated(stored, by: response.head, requested: requested, received: received)
      // Before the response may have to be removed.
      let answer = await self.answer(updated, to: request.head, .stale.forwarded(304))
      await keep(updated, answering: request.head)
      if let answer { return answer }
      return try await fetch(request, key: stored.key, instead: nil, .stale, next: next)
    }
    if rules.isStorable(response.head, to: request.head) {
      response.body = await keeping(response, to: request.head, in: reservation, requested, received)
    } else if response.status.kind == .successful {
      // The stored response differs from what the origin has now.
      await store.remove(stored.key)
    }
    CacheStatus.stale.forwarded(response.status.code).add(to: &response.head)
    return response
  }

  /// Validates in the background a response that was served stale. No request waits for it.
  func refresh(_ stored: StoredResponse, _ request: Request, next: Next) async {
    var request = request
    request.deadline = .now() + .seconds(30)
    request.onInformational = nil
    for name in [HTTPField.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince] {
      request.head.headerFields[name] = nil
    }
    request.head.method = .get
    guard let response = try? await validate(stored, for: request, next: next) else { return }
    // Reading it stores it.
    let body = response.body
    _ = try? await withTimeLimit(.seconds(300), throwing: CancellationError(), waits: true) {
      for try await _ in body {}
    }
  }

  /// Stores the new head of a response, or removes the response if the head forbids storing it.
  private func keep(_ updated: StoredResponse, answering request: HTTPRequest) async {
    var question = request
    question.method = .get
    question.headerFields[.cacheControl] = nil
    let head = HTTPResponse(status: .init(code: updated.status), headerFields: updated.fields)
    if rules.isStorable(head, to: question) {
      await store.update(updated)
    } else {
      await store.remove(updated.key)
    }
  }

  /// Returns the response's body, which is stored as it passes.
  private func keeping(
    _ response: Response, to request: HTTPRequest, in reservation: CacheStore.Reservation, _ requested: WallTime,
    _ received: WallTime
  ) async -> Body {
    let stored = rules.head(
      reservation.id, of: reservation.key, response.head, to: request, requested: requested, received: received)
    return await store.storing(response.body, of: stored, in: reservation)
  }

  /// - Returns: `nil` if the origin or the way to it failed and the stored response is better than that.
  private func attempt(_ request: Request, next: Next, saving stored: StoredResponse?) async throws -> Response? {
    func isSaved() -> Bool {
      stored.map {
        rules.maySave(request.head, stored: $0, now: now(), grace: configuration.staleIfError)
      } ?? false
    }
    do {
      let response = try await next(request)
      guard [500, 502, 503, 504].contains(response.status.code), isSaved() else { return response }
      await response.discard()
      return nil
    } catch let error as BywayError {
      guard Self.outages.contains(error.code), isSaved() else { throw error }
      return nil
    }
  }

  /// Updates a stored response by the answer to a HEAD, which describes what a GET's would be (§4.3.5).
  private func take(
    _ response: HTTPResponse, to request: HTTPRequest, as stored: StoredResponse?, _ requested: WallTime,
    _ received: WallTime
  ) async {
    guard let stored, response.status.code == 200, stored.status == 200 else { return }
    if CacheRules.describes(response, stored) {
      let updated = rules.updated(stored, by: response, requested: requested, received: received)
      await keep(updated, answering: request)
    } else {
      await store.remove(stored.key)
    }
  }

  /// Failures of the origin or of the way to it, which are not the caller's mistake.
  private static let outages: Set<BywayError.Code> = [
    .linkUnavailable, .linkLost, .originUnavailable, .originLost, .timedOut, .refused,
  ]
}
