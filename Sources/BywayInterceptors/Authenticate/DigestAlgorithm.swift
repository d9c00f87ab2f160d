import BywayPrimitives
import Crypto
import NIOCore

/// The hash algorithms of Digest (RFC 7616 §3.2, §6.1). The last one is the strongest.
enum DigestAlgorithm: CaseIterable, Comparable {
  case md5, md5Session, sha256, sha256Session

  /// Returns `nil` for an unknown algorithm, such as SHA-512-256.
  init?(_ name: String?) {
    let name = (name ?? "MD5").uppercased()
    guard let known = Self.allCases.first(where: { $0.name.uppercased() == name }) else { return nil }
    self = known
  }

  var name: String {
    switch self {
    case .md5: "MD5"
    case .md5Session: "MD5-sess"
    case .sha256: "SHA-256"
    case .sha256Session: "SHA-256-sess"
    }
  }

  var isSession: Bool { self == .md5Session || self == .sha256Session }

  func hash(_ text: String) -> String {
    var hasher = Hasher(self)
    hasher.update(Array(text.utf8))
    return hasher.finish()
  }

  /// A hasher that takes bytes in pieces, and returns hexadecimal digits.
  struct Hasher {
    private var md5: Insecure.MD5?
    private var sha256 = SHA256()

    init(_ algorithm: DigestAlgorithm) {
      md5 = algorithm < .sha256 ? Insecure.MD5() : nil
    }

    mutating func update(_ bytes: [UInt8]) {
      if md5 != nil { md5?.update(data: bytes) } else { sha256.update(data: bytes) }
    }

    func finish() -> String {
      if let md5 { Hex.text(md5.finalize()) } else { Hex.text(sha256.finalize()) }
    }
  }
}
