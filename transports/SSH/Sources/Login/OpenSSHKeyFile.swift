internal import Crypto
internal import CryptoExtras
internal import Glibc

/// A private key in OpenSSH's own format (PROTOCOL.key): the public part in clear, the private part maybe encrypted.
struct OpenSSHKeyFile: Sendable {
  /// A file may ask for any number of rounds; `ssh-keygen -a` is seldom given more than some hundred. A thousand take
  /// about ten seconds.
  private static let maximumRounds = 2048

  let publicKey: PublicKey
  private let cipher: String
  private let salt: [UInt8]
  private let rounds: Int
  private let section: [UInt8]

  var isEncrypted: Bool { cipher != "none" }

  /// - Parameter bytes: what is between the lines of dashes, decoded.
  init(_ bytes: [UInt8]) throws(KeyFile.Problem) {
    let magic = Array("openssh-key-v1\0".utf8)
    var reader = WireReader(bytes)
    guard let start = reader.bytes(magic.count), start.elementsEqual(magic), let cipher = reader.text(),
      let derivation = reader.text(), let options = reader.string(), reader.uint32() == 1,
      let blob = reader.string(), let key = PublicKey(Array(blob)), let section = reader.string()
    else { throw .unreadable }
    publicKey = key
    self.cipher = cipher
    self.section = Array(section)
    guard cipher != "none" else {
      (salt, rounds) = ([], 0)
      return
    }
    var parameters = WireReader(options)
    guard derivation == "bcrypt", let salt = parameters.string(), let rounds = parameters.uint32(), rounds > 0 else {
      throw .unsupported("a passphrase of kind \(derivation)")
    }
    guard rounds <= Self.maximumRounds else { throw .unsupported("\(rounds) rounds of bcrypt") }
    self.salt = Array(salt)
    self.rounds = Int(rounds)
  }

  /// Takes a tenth of a second and more where the file is encrypted.
  ///
  /// - Parameter passphrase: not looked at where the file is not encrypted.
  func unlock(_ passphrase: Secret?) throws(KeyFile.Problem) -> SigningKey {
    var clear = isEncrypted ? try decrypt(passphrase) : section
    defer { clear.wipe() }
    var reader = WireReader(clear)
    // Two equal numbers tell the right passphrase from a wrong one.
    guard let check = reader.uint32(), check == reader.uint32() else {
      throw isEncrypted ? .wrongPassphrase : .unreadable
    }
    do {
      if let key = try SigningKey(openSSH: &reader) { return key }
    } catch {
      throw .unreadable
    }
    throw .unsupported("a key of type \(publicKey.type)")
  }

  private func decrypt(_ passphrase: Secret?) throws(KeyFile.Problem) -> [UInt8] {
    guard let passphrase, passphrase.count > 0 else { throw .noPassphrase }
    guard let (keyLength, mode) = Self.ciphers[cipher] else { throw .unsupported("the cipher \(cipher)") }
    guard !section.isEmpty, section.count % 16 == 0 else { throw .unreadable }
    var derived = BcryptKeyDerivation.derive(
      passphrase: passphrase, salt: salt, rounds: rounds, count: keyLength + 16)
    defer { derived.wipe() }
    let key = SymmetricKey(data: derived[..<keyLength])
    let start = Array(derived[keyLength...])
    do {
      switch mode {
      case .counter: return Array(try AES._CTR.decrypt(section, using: key, nonce: .init(nonceBytes: start)))
      case .chained: return Array(try AES._CBC.decrypt(section, using: key, iv: .init(ivBytes: start), noPadding: true))
      }
    } catch {
      throw .unreadable
    }
  }

  private enum Mode { case counter, chained }

  /// What ssh-keygen has written by default, now and earlier, and their smaller kin.
  private static let ciphers: [String: (keyLength: Int, mode: Mode)] = [
    "aes256-ctr": (32, .counter), "aes192-ctr": (24, .counter), "aes128-ctr": (16, .counter),
    "aes256-cbc": (32, .chained), "aes192-cbc": (24, .chained), "aes128-cbc": (16, .chained),
  ]
}

extension [UInt8] {
  mutating func wipe() {
    withUnsafeMutableBytes { if let start = $0.baseAddress { explicit_bzero(start, $0.count) } }
  }
}
