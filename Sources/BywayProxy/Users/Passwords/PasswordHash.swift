import BywayPrimitives

/// A password's hash from an `htpasswd` file, of a kind that is slow on purpose.
package struct PasswordHash: Sendable, Hashable {
  /// The hash in the format of crypt(5).
  let text: String

  package enum Flaw: Error {
    /// Half a sentence.
    case unusable(String)
  }

  /// - Throws: if it is of a kind that is not accepted, or no hash.
  package init(_ text: Substring) throws(Flaw) {
    guard Self.kinds.contains(where: text.hasPrefix) else { throw .unusable(Self.reason(text)) }
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
    let count = text.utf8.count
    guard isPlain, text.hasPrefix("$2") ? count == Self.bcryptLength : count <= 384 else {
      throw .unusable("is damaged; \(Self.remedy)")
    }
    self.text = String(text)
  }

  /// bcrypt, yescrypt and its GOST variant, scrypt, SHA-512 and SHA-256 (crypt(5)). `$2a$` and `$2x$` have known errors.
  private static let kinds = ["$2y$", "$2b$", "$y$", "$gy$", "$7$", "$6$", "$5$"]
  private static let bcryptLength = 60
  private static let remedy = "make one with: htpasswd -B -C 10"

  private static func reason(_ text: Substring) -> String {
    let name: String? =
      if text.hasPrefix("$apr1$") || text.hasPrefix("$1$") {
        "of MD5, which can be guessed too fast"
      } else if text.hasPrefix("{SHA}") || text.hasPrefix("{SSHA}") {
        "of SHA-1, which can be guessed too fast"
      } else if text.hasPrefix("$2a$") || text.hasPrefix("$2x$") {
        "of an older bcrypt, which has known errors"
      } else if text.hasPrefix("$argon2") {
        "of Argon2, which the system's libcrypt does not support"
      } else if text.utf8.count == 13, !text.hasPrefix("$") {
        "of DES, which can be guessed too fast, or no hash at all"
      } else {
        nil
      }
    return name.map { "has a hash \($0): \(remedy)" }
      ?? "has a password in plain text, or a hash of an unknown kind: \(remedy)"
  }
}
