internal import Crypto

/// bcrypt_pbkdf, by which OpenSSH turns a passphrase into a key: PBKDF2 (RFC 8018 §5.2) around a bcrypt of SHA-512
/// hashes, its output dealt out like cards. Takes a tenth of a second for 16 rounds, on purpose.
enum BcryptKeyDerivation {
  static func derive(passphrase: Secret, salt: [UInt8], rounds: Int, count: Int) -> [UInt8] {
    let key = passphrase.withBytes { words(SHA512.hash(data: $0)) }
    let blockCount = (count + 31) / 32
    var derived = [UInt8](repeating: 0, count: count)
    for block in 0..<blockCount {
      var counted = WireWriter()
      counted.uint32(UInt32(block + 1))
      var output = hash(key: key, salt: words(SHA512.hash(data: salt + counted.bytes)))
      var sum = output
      for _ in 1..<max(1, rounds) {
        output = hash(key: key, salt: words(SHA512.hash(data: output)))
        for index in sum.indices { sum[index] ^= output[index] }
      }
      for (index, byte) in sum.enumerated() where index * blockCount + block < count {
        derived[index * blockCount + block] = byte
      }
    }
    return derived
  }

  /// 32 bytes.
  private static func hash(key: [UInt32], salt: [UInt32]) -> [UInt8] {
    var cipher = Blowfish()
    cipher.expand(key: key, salt: salt)
    for _ in 0..<64 {
      cipher.expand(key: salt, salt: [])
      cipher.expand(key: key, salt: [])
    }
    var text = words("OxychromaticBlowfishSwatDynamite".utf8)
    for _ in 0..<64 { cipher.encrypt(&text) }
    return text.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  /// Highest byte first.
  private static func words(_ bytes: some Sequence<UInt8>) -> [UInt32] {
    let bytes = Array(bytes)
    return stride(from: 0, to: bytes.count - 3, by: 4).map { at in
      bytes[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}
