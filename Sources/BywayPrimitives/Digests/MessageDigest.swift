import CBywayMD

/// Digests of libmd, for modules that need no other cryptography. swift-crypto would bring Foundation into every program.
package enum MessageDigest {
  /// The number of bytes of a SHA-256.
  package static let sha256Length = Int(SHA256_DIGEST_LENGTH)

  /// Returns the SHA-1 of the bytes: 20 bytes. It no longer protects against forged content.
  package static func sha1(of bytes: [UInt8]) -> [UInt8] {
    var context = SHA1_CTX()
    SHA1Init(&context)
    SHA1Update(&context, bytes, bytes.count)
    return [UInt8](unsafeUninitializedCapacity: Int(SHA1_DIGEST_LENGTH)) { digest, count in
      SHA1Final(digest.baseAddress, &context)
      count = digest.count
    }
  }

  /// Returns the SHA-256 of the bytes: 32 bytes.
  package static func sha256(of bytes: [UInt8]) -> [UInt8] {
    var context = SHA2_CTX()
    SHA256Init(&context)
    SHA256Update(&context, bytes, bytes.count)
    return [UInt8](unsafeUninitializedCapacity: sha256Length) { digest, count in
      SHA256Final(digest.baseAddress, &context)
      count = digest.count
    }
  }
}
