import BywayHTTPWire
import BywayPrimitives

/// The state of one Digest challenge, which allows any number of answers, each with the next count (RFC 7616).
///
/// It is a value; random numbers are passed in.
struct DigestSession: Sendable {
  enum Quality: String, Sendable {
    case auth, authInt = "auth-int"
  }

  let realm: String
  let algorithm: DigestAlgorithm
  private var nonce: String
  private let opaque: String?
  private let offered: [Quality]
  private let hidesUser: Bool
  /// Whether the server offers no quality of protection, as with the oldest ones, and wants an answer without one (RFC 2069).
  private let isLegacy: Bool
  private var count: UInt32 = 0
  /// The server's nonce and the client's, to which a session algorithm binds its key for the whole session (§3.4.2).
  private var sessionNonces: (nonce: String, own: String)?

  /// Returns `nil` if the challenge cannot be answered.
  init?(_ challenge: Challenge) {
    guard challenge.scheme == "digest", let nonce = challenge["nonce"],
      let algorithm = DigestAlgorithm(challenge["algorithm"])
    else { return nil }
    self.nonce = nonce
    self.algorithm = algorithm
    realm = challenge["realm"] ?? ""
    opaque = challenge["opaque"]
    hidesUser = challenge["userhash"]?.lowercased() == "true"
    let offers = challenge["qop"].map { ListMembers($0).map { $0.lowercased() } }
    isLegacy = offers == nil
    offered = (offers ?? []).compactMap(Quality.init)
    guard isLegacy || !offered.isEmpty else { return nil }
  }

  /// The protection of requests, which includes their bodies if the server insists; `nil` for the form of RFC 2069.
  var quality: Quality? {
    if isLegacy { return nil }
    return offered.contains(.auth) ? .auth : .authInt
  }

  /// Changes to the nonce that the server has named for further requests (§3.5).
  mutating func advance(to nextNonce: String) {
    nonce = nextNonce
    count = 0
  }

  /// - Parameters:
  ///   - target: The path and query as in the request.
  ///   - bodyHash: The hash of the body, for `auth-int`.
  ///   - ownNonce: A random value that is hard to guess.
  /// - Returns: The value of `Authorization`, and the proof by which the server shows that it knows the password.
  mutating func authorization(
    for credentials: Authenticate.Credentials, method: String, target: String, quality: Quality?, bodyHash: String?,
    ownNonce: String
  ) -> (field: String, expected: ServerProof?) {
    count += 1
    let nonces = sessionNonces ?? (nonce, ownNonce)
    if algorithm.isSession { sessionNonces = nonces }
    var secret = algorithm.hash("\(credentials.user):\(realm):\(credentials.password)")
    if algorithm.isSession { secret = algorithm.hash("\(secret):\(nonces.nonce):\(nonces.own)") }
    let suffix = quality == .authInt ? ":\(bodyHash ?? algorithm.hash(""))" : ""
    let request = algorithm.hash("\(method):\(target)\(suffix)")
    let counter = Hex.text(count)

    var parts = user(credentials.user)
    parts += ["realm=\(realm.quoted)", "uri=\(target.quoted)", "algorithm=\(algorithm.name)", "nonce=\(nonce.quoted)"]
    var proof: ServerProof?
    if let quality {
      let middle = "\(nonce):\(counter):\(ownNonce):\(quality.rawValue)"
      parts += ["nc=\(counter)", "cnonce=\(ownNonce.quoted)", "qop=\(quality.rawValue)"]
      parts.append("response=\(algorithm.hash("\(secret):\(middle):\(request)").quoted)")
      // With `auth-int`, the proof covers the response's body, and could be checked only after the body has been passed on.
      if quality == .auth {
        let answer = algorithm.hash(":\(target)")
        proof = ServerProof(value: algorithm.hash("\(secret):\(middle):\(answer)"), count: counter)
      }
    } else {
      parts.append("response=\(algorithm.hash("\(secret):\(nonce):\(request)").quoted)")
    }
    if let opaque { parts.append("opaque=\(opaque.quoted)") }
    return ("Digest " + parts.joined(separator: ", "), proof)
  }

  /// The expected proof in `Authentication-Info` (§3.5), which shows that no other server has answered.
  struct ServerProof: Sendable {
    let value: String
    let count: String

    /// Whether the proof is right. A server need not send one; if it does, it must know the password.
    func accepts(_ information: Challenge) -> Bool {
      guard let proof = information["rspauth"], information["nc"] == count else { return true }
      return proof.lowercased() == value
    }
  }

  private func user(_ name: String) -> [String] {
    if hidesUser { return ["username=\(algorithm.hash("\(name):\(realm)").quoted)", "userhash=true"] }
    if name.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return ["username=\(name.quoted)"] }
    // RFC 8187.
    return ["username*=UTF-8''\(PercentEncoding.encode(name, isPlain: PercentEncoding.isUnreserved))"]
  }
}
