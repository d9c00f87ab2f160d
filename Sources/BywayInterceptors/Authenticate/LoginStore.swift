import Synchronization

/// The answer to a challenge, which later requests may carry without waiting for one.
struct Login: Sendable {
  let id: Int
  let credentials: Authenticate.Credentials
  let place: LoginPlace
  let realm: String
  /// `nil` for Basic.
  fileprivate(set) var session: DigestSession?

  /// Whether the server accepts the login but no longer its nonce (RFC 7616 §3.3).
  func isStale(by challenge: Challenge) -> Bool {
    session != nil && challenge.scheme == "digest" && challenge["stale"]?.lowercased() == "true"
      && challenge["realm"] ?? "" == realm
  }

  /// Whether the login applies to another place. Digest applies to the whole origin; Basic to what is next to and below the path
  /// that was challenged (RFC 7617 §2.2).
  func covers(_ other: LoginPlace) -> Bool {
    place.hasServer(of: other) && (session != nil || other.target.path.utf8.starts(with: folder.utf8))
  }

  fileprivate var folder: Substring {
    let path = place.target.path.prefix { $0 != "?" }
    return path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
  }
}

/// A store of the logins that servers have asked for, the latest last, up to a limit.
final class LoginStore: Sendable {
  private static let limit = 100

  private struct State {
    var logins: [Login] = []
    var nextID = 0
  }

  private let state = Mutex(State())

  func login(for place: LoginPlace) -> Login? {
    state.withLock { $0.logins.last { $0.covers(place) } }
  }

  /// Returns a login for the same realm elsewhere on this origin (RFC 9110 §11.5). Credentials that were given for Digest, which
  /// hides the password, are never used for Basic.
  func login(for challenge: Challenge, at place: LoginPlace) -> Login? {
    state.withLock { state in
      state.logins.last { login in
        login.place.hasServer(of: place) && login.realm == challenge["realm"] ?? ""
          && (login.session == nil || challenge.scheme == "digest")
      }
    }
  }

  func add(_ credentials: Authenticate.Credentials, for challenge: Challenge, at place: LoginPlace) -> Login {
    state.withLock { state in
      state.nextID += 1
      let login = Login(
        id: state.nextID, credentials: credentials, place: place, realm: challenge["realm"] ?? "",
        session: DigestSession(challenge))
      state.logins.removeAll { other in
        other.place.hasServer(of: place) && other.realm == login.realm
          && (other.session != nil || other.folder == login.folder)
      }
      state.logins.append(login)
      if state.logins.count > Self.limit { state.logins.removeFirst() }
      return login
    }
  }

  /// Replaces a login by one with the same credentials and a new nonce. Requests that are under way keep the old login.
  func renew(_ login: Login, for challenge: Challenge) -> Login {
    remove(login)
    return add(login.credentials, for: challenge, at: login.place)
  }

  func remove(_ login: Login) {
    state.withLock { $0.logins.removeAll { $0.id == login.id } }
  }

  func advance(_ login: Login, to nonce: String) {
    update(login) { $0.advance(to: nonce) }
  }

  /// Returns the answer with the next count, so that no two requests have the same count.
  func authorization(
    of login: Login, method: String, target: String, quality: DigestSession.Quality?, bodyHash: String?,
    ownNonce: String
  ) -> (field: String, proof: DigestSession.ServerProof?) {
    update(login) { session in
      let (field, proof) = session.authorization(
        for: login.credentials, method: method, target: target, quality: quality, bodyHash: bodyHash,
        ownNonce: ownNonce)
      return (field, proof)
    } ?? ("", nil)
  }

  /// Changes the stored session if it still exists, or else the login's own.
  @discardableResult
  private func update<Result>(_ login: Login, _ change: (inout DigestSession) -> Result) -> Result? {
    state.withLock { state in
      if let index = state.logins.firstIndex(where: { $0.id == login.id }) {
        guard var session = state.logins[index].session else { return nil }
        defer { state.logins[index].session = session }
        return change(&session)
      }
      guard var session = login.session else { return nil }
      return change(&session)
    }
  }
}
