public import Byway
import BywayHTTPWire
import BywayPrimitives
import HTTPTypes
import NIOCore

/// An interceptor that logs in when a server asks for it, with Basic (RFC 7617) or Digest (RFC 7616: SHA-256 and MD5, `auth` and
/// `auth-int`).
///
/// It uses the strongest scheme on offer. A challenge is answered once: if the server does not accept the answer, the caller gets
/// its 401. Later requests to the same place carry the answer at once. If several requests are challenged, one asks for credentials
/// and the others wait for the result. A request that already has an `Authorization` passes unchanged. Passwords appear in no log,
/// error or description.
///
/// A login applies to the server that a request is sent to. At a gateway that is its origin, whatever name the request has for it,
/// or another server that it reaches. At a proxy, the server behind the link is known by the proxy's own names and no others.
///
/// A body is sent a second time if it is replayable, or if no more than 64 KiB of it have been sent. Otherwise the caller gets the
/// 401, and its next request has the login.
public struct Authenticate: Interceptor {
  /// Finds credentials, possibly by asking a user. There is one call at a time; it is cancelled with the request, and at its
  /// deadline. Returns `nil` if there are none: the caller then gets the 401.
  public typealias Ask = @Sendable (Realm) async throws -> Credentials?

  /// The number of bytes of a streamed body that are kept while it passes.
  private static let keptLength = 64 * 1024

  public let scope: Scope
  private let ask: Ask
  private let random: @Sendable () -> String
  private let logins = LoginStore()
  private let turnstile = AsyncLock()

  /// Creates an interceptor with logins from a function.
  /// - Parameters:
  ///   - scope: The requests that it applies to.
  ///   - ask: Called if no login is known yet, or if the server did not accept it.
  public init(scope: Scope = .everything, _ ask: @escaping Ask) {
    self.init(scope: scope, ask, random: Self.randomNonce)
  }

  /// Creates an interceptor with one login for these hosts and no others. `Scope` describes how they are written.
  public init(hosts: [String], user: String, password: String) {
    let credentials = Credentials(user: user, password: password)
    let patterns = hosts.compactMap { try? HostPattern($0) }
    self.init { realm in
      guard let host = try? Host(realm.host) else { return nil }
      return patterns.contains { $0.matches(host) } ? credentials : nil
    }
  }

  /// Creates an interceptor with logins by host from a file in the form that `curl --netrc-file` reads; `machine` is the server's
  /// host. Blocks while it reads the file, once.
  /// - Throws: `BywayError` if the file cannot be read, other users may read it, or it has another form.
  public init(netrc path: String, scope: Scope = .everything) throws {
    let file = try LoginFile(path)
    self.init(scope: scope) { file.credentials(for: $0.host) }
  }

  package init(scope: Scope = .everything, _ ask: @escaping Ask, random: @escaping @Sendable () -> String) {
    self.scope = scope
    self.ask = ask
    self.random = random
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard request.head.headerFields[.authorization] == nil, !request.head.kind.asksForTunnel else {
      return try await next(request)
    }
    guard let place = LoginPlace(request.head, at: next.destination(of: request)) else {
      return try await next(request)
    }
    let known = logins.login(for: place)
    let kept = KeptBody(request.body, upTo: Self.keptLength)
    var request = request
    request.body = kept.body
    let answer = try await send(request, kept, with: known, at: place, next: next)
    guard let challenge = challenge(in: answer) else { return answer }

    let isStale = known?.isStale(by: challenge) ?? false
    let login =
      if let known, isStale {
        logins.renew(known, for: challenge)
      } else {
        try await login(for: challenge, rejected: known, at: place, request: request)
      }
    // If part of the body is no longer available, the caller gets the 401; when it tries again, the login is known.
    guard let login, kept.isRepeatable else { return answer }
    await answer.discard()
    let second = try await send(request, kept, with: login, at: place, next: next)
    if second.status == .unauthorized, !isStale { logins.remove(login) }
    return second
  }

  // MARK: One attempt

  private func send(
    _ request: Request, _ kept: KeptBody, with login: Login?, at place: LoginPlace, next: Next
  ) async throws -> Response {
    guard let login else { return try await next(request) }
    var request = request
    var field = try await authorization(of: login, for: request, kept)
    field.field.indexingStrategy = .disallow
    request.head.headerFields[fields: .authorization] = [field.field]
    let response = try await next(request)
    let information = Challenge.information(in: response.fields[values: .authenticationInfo])
    if let proof = field.proof, response.status != .unauthorized, !proof.accepts(information) {
      throw BywayError(
        .originUntrusted,
        "\(place.target.origin) does not know the password that it asked for: something else may be answering in its place."
      )
    }
    if let nonce = information["nextnonce"] { logins.advance(login, to: nonce) }
    return response
  }

  private func authorization(
    of login: Login, for request: Request, _ kept: KeptBody
  ) async throws -> (field: HTTPField, proof: DigestSession.ServerProof?) {
    guard let session = login.session else {
      let (user, password) = (login.credentials.user, login.credentials.password)
      guard !user.contains(":") else {
        throw BywayError(
          .invalidRequest, "A user name with a colon cannot be sent by Basic authentication, which the origin asks for."
        )
      }
      let text = "Basic " + Base64.encode("\(user):\(password)".utf8)
      return (HTTPField(name: .authorization, value: text), nil)
    }
    let quality = session.quality
    var bodyHash: String?
    if quality == .authInt {
      var hasher = DigestAlgorithm.Hasher(session.algorithm)
      for try await chunk in request.body { hasher.update(Array(chunk.readableBytesView)) }
      guard kept.isRepeatable else {
        throw BywayError(
          .invalidRequest,
          "The origin wants the request's body in its Digest login (auth-int), and of this body only"
            + " \(Self.keptLength / 1024) KiB can be read twice: make it from bytes or from a file.")
      }
      bodyHash = hasher.finish()
    }
    let (text, proof) = logins.authorization(
      of: login, method: request.head.method.rawValue, target: request.head.path ?? "/", quality: quality,
      bodyHash: bodyHash, ownNonce: random())
    return (HTTPField(name: .authorization, value: text), proof)
  }

  // MARK: Challenges

  /// Returns the strongest challenge that can be answered (RFC 7616 §3.7).
  private func challenge(in response: Response) -> Challenge? {
    guard response.status == .unauthorized else { return nil }
    let challenges = Challenge.all(in: response.fields[values: .wwwAuthenticate])
    let digests = challenges.compactMap { challenge in DigestSession(challenge).map { ($0.algorithm, challenge) } }
    return digests.max { $0.0 < $1.0 }?.1 ?? challenges.first { $0.scheme == "basic" }
  }

  private func login(
    for challenge: Challenge, rejected: Login?, at place: LoginPlace, request: Request
  ) async throws -> Login? {
    let target = place.target
    let realm = Realm(
      origin: "\(target.origin)", host: target.host, name: challenge["realm"] ?? "",
      hidesPassword: challenge.scheme == "digest" || target.scheme == "https",
      isDigest: challenge.scheme == "digest")
    let timedOut = BywayError(.timedOut, "No login for \(realm.origin) was given before the request's deadline.")
    let limit = request.deadline.map { Duration($0 - NIODeadline.now()) }
    return try await withTimeLimit(limit, throwing: timedOut, waits: true) {
      try await turnstile.pass {
        // Another request may have got the login meanwhile, possibly for another path of the same realm.
        if let other = logins.login(for: challenge, at: place), other.id != rejected?.id {
          return other.covers(place) ? other : logins.add(other.credentials, for: challenge, at: place)
        }
        if let rejected { logins.remove(rejected) }
        guard let credentials = try await ask(realm) else { return nil }
        return logins.add(credentials, for: challenge, at: place)
      }
    }
  }

  private static func randomNonce() -> String {
    var generator = SystemRandomNumberGenerator()
    return Hex.text((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
  }
}
