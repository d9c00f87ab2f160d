public import Byway
import HTTPTypes
import HTTPWire
import NIOCore
import Primitives

/// Answers a server that asks for a login, by Basic (RFC 7617) or Digest (RFC 7616: SHA-256 and MD5, `auth` and
/// `auth-int`).
///
/// The strongest scheme on offer is taken. A challenge is answered once: when the server does not accept the answer,
/// the caller gets its 401. Later requests to the same place carry the answer at once. Where several requests are
/// challenged, one asks for credentials and the others wait for what it gets. A request that has an `Authorization`
/// already passes by. Passwords appear in no log, error or description.
///
/// A login goes by the server that a request is sent to. At a gateway that is its origin, whatever the request calls it, or
/// what it reaches besides it; at a proxy what stands behind the link has the proxy's own names and no others.
///
/// The second time, a body is sent again that is replayable, or of which no more than 64 KiB have gone by until then. Where
/// more have, the caller gets the 401, and its next request has the login.
public struct Authenticate: Interceptor {
  /// Finds credentials, perhaps by asking a person: one call at a time, cancelled where the request is or its
  /// deadline passes. `nil`: there are none, and the caller gets the 401.
  public typealias Ask = @Sendable (Realm) async throws -> Credentials?

  /// How much of a body that streams is kept while it goes by.
  private static let keptLength = 64 * 1024

  public let scope: Scope
  private let ask: Ask
  private let random: @Sendable () -> String
  private let logins = LoginBook()
  private let turnstile = Turnstile()

  /// Logins that a function finds.
  /// - Parameters:
  ///   - scope: which requests it takes part in.
  ///   - ask: called where nothing is known yet, or the server did not accept what was.
  public init(scope: Scope = .everything, _ ask: @escaping Ask) {
    self.init(scope: scope, ask, random: Self.randomNonce)
  }

  /// The same login for these hosts and no others: `Scope` says how they are written.
  public init(hosts: [String], user: String, password: String) {
    let credentials = Credentials(user: user, password: password)
    let patterns = hosts.compactMap { try? HostPattern($0) }
    self.init { realm in
      guard let host = try? Host(realm.host) else { return nil }
      return patterns.contains { $0.matches(host) } ? credentials : nil
    }
  }

  /// Logins by host from a file of the form that `curl --netrc-file` reads; `machine` is the server's host.
  /// Blocks while it reads it, once.
  /// - Throws: `BywayError` where it cannot be read, somebody else may read it, or it has another form.
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
    guard request.head.headerFields[.authorization] == nil, request.head.method != .connect else {
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
    // Where part of the body is gone for good, the caller gets the 401; when it tries again, the login is known.
    guard let login, kept.isRepeatable else { return answer }
    await answer.discard()
    let second = try await send(request, kept, with: login, at: place, next: next)
    if second.status == .unauthorized, !isStale { logins.forget(login) }
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

  /// The strongest challenge that can be answered (RFC 7616 §3.7).
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
        // Whoever was here before may have got it meanwhile, or for another path of the same realm.
        if let other = logins.login(for: challenge, at: place), other.id != rejected?.id {
          return other.covers(place) ? other : logins.add(other.credentials, for: challenge, at: place)
        }
        if let rejected { logins.forget(rejected) }
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
