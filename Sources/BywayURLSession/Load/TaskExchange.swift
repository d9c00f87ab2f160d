import Byway
import BywayInterceptors
import Foundation
import FoundationNetworking
import NIOCore
import Synchronization

/// The exchange of a task's request. Work that Foundation leaves to custom protocols is done by a chain of interceptors:
/// redirects outermost, then logins, cookies, compression, and the link.
final class TaskExchange: Sendable {
  let question: DelegateCall
  private let bridge: Bridge
  private let configuration: URLSessionConfiguration
  private let original: URLRequest
  private let uploaded: Upload
  private let current: Mutex<URL?>
  private let redirects = Mutex(0)

  init(
    _ bridge: Bridge, _ task: URLSessionTask, _ internals: TaskInternals, _ request: URLRequest,
    _ activity: ProgressClock
  ) {
    var delegate = task.delegate
    if case .completionHandler(let own?) = internals.audience { delegate = own }
    question = DelegateCall(session: internals.session, task: task, delegate: delegate, activity: activity)
    uploaded = Upload(internals.body, request: request, question: question)
    configuration = internals.session.configuration
    original = request
    current = Mutex(request.url)
    self.bridge = bridge
  }

  /// The URL of the response, after redirects.
  var url: URL? { current.withLock { $0 } }

  func send() async throws -> Response {
    // Foundation's own protocol does the same.
    guard original.httpMethod ?? "GET" != "GET" || uploaded.isEmpty else {
      throw URLError(.dataLengthExceedsMaximum, .bodyOfGET, at: url)
    }
    var request = try Request(original, adding: configuration.httpAdditionalHeaders, body: uploaded.body())
    // The load has its own timers. This only replaces the client's shorter default.
    request.deadline = .now() + .seconds(Int64(min(max(configuration.timeoutIntervalForResource, 1), 1e9)))
    let login = DelegateLogin(question, url: original.url, storage: configuration.urlCredentialStorage)
    let interceptors: [any Interceptor] = [
      Redirect(limit: .max, decide: redirection()), LoginRounds(login: login),
      SessionLogins.process.authenticate(for: question.session), CookieJar(configuration, original), Decompress(),
    ]
    let chain = Next(interceptors[...]) { [self] request in
      guard let route = route(of: request) else {
        throw BywayError(.misdirected, "No route of the bridge takes this request.", processing: .none)
      }
      return try await route.client.execute(request)
    }
    let response = try await Loop.$bridges.withValue(Loop.bridges + [bridge]) {
      try await DelegateLogin.$current.withValue(login) { try await chain(request) }
    }
    guard bridge.gatewayFailures == .errors, let failure = URLError(reportedBy: response.head, at: url) else {
      return response
    }
    await response.discard()
    throw failure
  }

  private func route(of request: Request) -> Route? {
    bridge.routes.first { $0.scope.contains(request.head) }
  }

  // MARK: Redirects

  /// The delegate decides about a redirect, as with Foundation's own protocols. Its answer may be another request.
  private func redirection() -> Redirect.Decision {
    { [self] response, next in
      let url = url
      guard let target = next.head.url, route(of: next) != nil,
        let answer = HTTPURLResponse(response, from: url)
      else { return nil }
      try countRedirect()
      let proposed = URLRequest(next, at: target, like: original)
      let (session, task) = (question.session, question.task)
      let decision: URLRequest?? = try await question.ask { delegate, decided in
        delegate.urlSession(
          session, task: task, willPerformHTTPRedirection: answer, newRequest: proposed, completionHandler: decided)
      }
      guard let chosen = decision ?? proposed else { return nil }
      current.withLock { $0 = chosen.url }
      return chosen == proposed ? next : try next.replaced(by: chosen)
    }
  }

  private func countRedirect() throws {
    let count = redirects.withLock { count in
      count += 1
      return count
    }
    guard count > Self.redirectLimit else { return }
    let message =
      "More than \(Self.redirectLimit) redirects in a row: the origin's redirects form a cycle, perhaps because it"
      + " wants a cookie."
    throw URLError(.httpTooManyRedirects, BywayError(.refused, message), at: url)
  }

  private static let redirectLimit = 20
}
