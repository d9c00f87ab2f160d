import Byway
import BywayInterceptors
import Foundation
import FoundationNetworking
import Synchronization

/// Gets the credentials of one task from its URL, its session's credential storage, or its delegate.
final class DelegateLogin: Sendable {
  /// The login that the session's ``Authenticate``, which serves all its tasks, asks now.
  @TaskLocal static var current: DelegateLogin?

  private struct State {
    /// The number of answers that the server did not accept.
    var failures = 0
    var answers = 0
    var last: (credential: URLCredential, space: URLProtectionSpace)?
  }

  private let question: DelegateCall
  private let storage: URLCredentialStorage?
  private let ofURL: URLLogin?
  private let state = Mutex(State())

  init(_ question: DelegateCall, url: URL?, storage: URLCredentialStorage?) {
    self.question = question
    self.storage = storage
    ofURL = url.flatMap { URLLogin($0) }
  }

  /// The number of answers given.
  var answers: Int { state.withLock { $0.answers } }

  func credentials(for realm: Authenticate.Realm) async throws -> Authenticate.Credentials? {
    let space = URLProtectionSpace(realm)
    let failures = state.withLock { $0.failures }
    let proposed = failures == 0 ? ofURL?.credential(for: space) ?? stored(for: space) : nil
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: proposed, previousFailureCount: failures, failureResponse: nil,
      error: nil, sender: NoSender())
    let (session, task) = (question.session, question.task)
    let answer: (URLSession.AuthChallengeDisposition, URLCredential?)? = try await question.ask { delegate, answer in
      delegate.urlSession(session, task: task, didReceive: challenge) { answer(($0, $1)) }
    }
    let credential: URLCredential?
    switch answer ?? (.performDefaultHandling, nil) {
    case (.useCredential, let given): credential = given
    case (.cancelAuthenticationChallenge, _): throw URLError(.cancelled)
    case (.performDefaultHandling, _): credential = proposed
    default: credential = nil
    }
    guard let credential, let user = credential.user, let password = credential.password else { return nil }
    state.withLock { state in
      state.answers += 1
      state.last = (credential, space)
    }
    return Authenticate.Credentials(user: user, password: password)
  }

  func wasRefused() {
    state.withLock { $0.failures += 1 }
  }

  /// Stores the accepted credentials if their persistence allows it.
  func wasAccepted() {
    guard let (credential, space) = state.withLock({ $0.last.take() }), credential.persistence != .none else { return }
    storage?.set(credential, for: storage?.known(space) ?? space)
  }

  private func stored(for space: URLProtectionSpace) -> URLCredential? {
    guard let storage, let space = storage.known(space) else { return nil }
    return storage.defaultCredential(for: space) ?? storage.credentials(for: space)?.min { $0.key < $1.key }?.value
  }
}

/// Retries while the server refuses and the delegate has another answer.
struct LoginRounds: Interceptor {
  /// Limits a delegate that always gives the same wrong answer.
  static let limit = 10

  let login: DelegateLogin

  func intercept(_ request: Request, next: Next) async throws -> Response {
    for _ in 1..<Self.limit {
      let answers = login.answers
      let response = try await next(request)
      guard response.status == .unauthorized else {
        login.wasAccepted()
        return response
      }
      guard login.answers > answers, request.body.isReplayable else { return response }
      login.wasRefused()
    }
    return try await next(request)
  }
}

/// An ``Authenticate`` for each session: its logins serve all tasks of that session only.
final class SessionLogins: Sendable {
  static let process = SessionLogins()

  private struct Entry {
    weak var session: URLSession?
    let authenticate: Authenticate
  }

  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  func authenticate(for session: URLSession) -> Authenticate {
    entries.withLock { entries in
      let key = ObjectIdentifier(session)
      if let entry = entries[key], entry.session === session { return entry.authenticate }
      entries = entries.filter { $0.value.session != nil }
      let entry = Entry(
        session: session, authenticate: Authenticate { try await DelegateLogin.current?.credentials(for: $0) })
      entries[key] = entry
      return entry.authenticate
    }
  }
}

extension URLCredentialStorage {
  /// Finds the stored protection space. On Linux they are compared by identity, so only the stored object finds its credentials
  /// again.
  fileprivate func known(_ space: URLProtectionSpace) -> URLProtectionSpace? {
    allCredentials.keys.first {
      $0.host == space.host && $0.port == space.port && $0.protocol == space.protocol && $0.realm == space.realm
        && $0.authenticationMethod == space.authenticationMethod
    }
  }
}

/// The user and password in a URL. They apply to its origin, and to no other that a redirect leads to.
private struct URLLogin: Sendable {
  private let scheme: String?
  private let host: String?
  private let port: Int
  private let credential: URLCredential

  init?(_ url: URL) {
    guard let user = url.user(percentEncoded: false) else { return nil }
    scheme = url.scheme?.lowercased()
    host = url.host()?.lowercased()
    port = url.portOrDefault
    credential = URLCredential(
      user: user, password: url.password(percentEncoded: false) ?? "", persistence: .none)
  }

  func credential(for space: URLProtectionSpace) -> URLCredential? {
    space.protocol == scheme && space.host.lowercased() == host && space.port == port ? credential : nil
  }
}

extension URL {
  fileprivate var portOrDefault: Int { port ?? (scheme?.lowercased() == "https" ? 443 : 80) }
}

extension URLProtectionSpace {
  fileprivate convenience init(_ realm: Authenticate.Realm) {
    let origin = URL(string: realm.origin)
    self.init(
      host: origin?.host() ?? "", port: origin?.portOrDefault ?? 80, protocol: origin?.scheme,
      realm: realm.name,
      authenticationMethod: realm.isDigest ? NSURLAuthenticationMethodHTTPDigest : NSURLAuthenticationMethodHTTPBasic)
  }
}

/// A challenge must have a sender. Delegates of sessions answer through their completion handler.
private final class NoSender: NSObject, URLAuthenticationChallengeSender {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
