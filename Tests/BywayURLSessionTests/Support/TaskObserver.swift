import Foundation
import FoundationNetworking
import Synchronization
import TestTools

/// A delegate that writes down what it hears, in order, and answers with what a test gives it.
final class TaskObserver: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)

  // `@unchecked`: the answers are set before the session is used.
  var redirect: @Sendable (HTTPURLResponse, URLRequest) -> URLRequest? = { $1 }
  var challenge: @Sendable (URLAuthenticationChallenge) -> Answer = { _ in (.performDefaultHandling, nil) }
  var stream: @Sendable () -> InputStream? = { nil }
  var onData: @Sendable (URLSessionDataTask, Data) -> Void = { _, _ in }

  private struct State {
    var events: [String] = []
    var data = Data()
    var error: (any Error)?
    var response: URLResponse?
    var sent: [Int64] = []
    var isComplete = false
  }
  private let state = Mutex(State())

  var events: [String] { state.withLock { $0.events } }
  var data: Data { state.withLock { $0.data } }
  var error: URLError? { state.withLock { $0.error as? URLError } }
  var response: HTTPURLResponse? { state.withLock { $0.response as? HTTPURLResponse } }
  var sent: [Int64] { state.withLock { $0.sent } }
  var isComplete: Bool { state.withLock { $0.isComplete } }

  private func note(_ event: String, _ change: (inout State) -> Void = { _ in }) {
    state.withLock { state in
      // Chunks have no boundaries of their own.
      if event != "data" || state.events.last != "data" { state.events.append(event) }
      change(&state)
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    note("redirect \(response.statusCode) \(request.httpMethod ?? "") \(request.url?.absoluteString ?? "")")
    completionHandler(redirect(response, request))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    let method = space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest ? "Digest" : "Basic"
    note("challenge \(method) \(space.host):\(space.port) \(space.realm ?? "") \(challenge.previousFailureCount)")
    let (disposition, credential) = self.challenge(challenge)
    completionHandler(disposition, credential)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
  ) {
    note("stream")
    completionHandler(stream())
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    state.withLock { $0.sent.append(totalBytesSent) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)") { $0.response = response }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    note("data") { $0.data.append(data) }
    onData(dataTask, data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    note(error == nil ? "complete" : "error") { state in
      state.error = error
      state.isComplete = true
    }
  }
}

/// Returns when a condition is true.
/// - Throws: where it is not for twenty seconds.
func until(_ condition: () -> Bool) async throws {
  guard try await eventually(condition) else { throw StillWaiting() }
}

struct StillWaiting: Error {}
