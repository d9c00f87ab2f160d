import HTTPWire
import Primitives

/// What one Digest challenge allows: any number of answers, each with the next count (RFC 7616).
///
/// A value without randomness of its own.
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
  /// The oldest servers offer none, and want an answer without (RFC 2069).
  private let isLegacy: Bool
  private var count: UInt32 = 0
  /// The nonce and the client's own, which a session algorithm binds its key to for as long as it lasts (§3.4.2).
  private var sessionNonces: (nonce: String, own: String)?

  /// `nil` where it cannot be answered.
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

  /// How requests are to be protected: with their bodies where the server insists; `nil`: in the manner of RFC 2069.
  var quality: Quality? {
    if isLegacy { return nil }
    return offered.contains(.auth) ? .auth : .authInt
  }

  /// The server has named the nonce to use from now on (§3.5).
  mutating func advance(to nextNonce: String) {
    nonce = nextNonce
    count = 0
  }

  /// - Parameters:
  ///   - target: the path and query as they stand in the request.
  ///   - bodyHash: for `auth-int`.
  ///   - ownNonce: random, hard to guess.
  /// - Returns: the value of `Authorization`, and what the server proves its own knowledge of the password with.
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
      // Over the response's body it could be checked only after the body has been handed on.
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

  /// What `Authentication-Info` has to say (§3.5), so that nobody answers in the server's place.
  struct ServerProof: Sendable {
    let value: String
    let count: String

    /// A server need not prove anything; one that tries must know the password.
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
