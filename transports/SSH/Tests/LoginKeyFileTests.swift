import Byway
import Foundation
import NIOPosix
import TestPeers
import Testing

@testable import SSHTransport

@Suite("Private key files")
struct LoginKeyFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func check(_ path: String, _ passphrase: String? = nil) async throws {
    let file = try KeyFile(path: path)
    #expect(file.isEncrypted == (passphrase != nil))
    // Many seconds, where the compiler has not optimized: not on a thread that other tests need.
    let key = try await NIOThreadPool.singleton.runIfActive {
      try file.unlock(passphrase.map { Secret(Array($0.utf8)) })
    }
    #expect(try key.publicBlob() == file.publicKey.blob)
    if FileManager.default.fileExists(atPath: "\(path).pub") {
      #expect(try file.publicKey == KeyMaker.publicKey(path))
    }
    let signature = try key.sign(SignatureCheck.signed)
    #expect(try await SignatureCheck.isGood(signature, by: file.publicKey))
  }

  private func problem(_ path: String, _ passphrase: String? = nil) -> KeyFile.Problem? {
    do throws(KeyFile.Problem) {
      _ = try KeyFile(path: path).unlock(passphrase.map { Secret(Array($0.utf8)) })
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "what ssh-keygen makes signs what ssh-keygen accepts, as OpenSSH's file and as PEM",
    arguments: [
      ["-t", "ed25519"], ["-t", "rsa", "-b", "2048"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"],
      ["-t", "ecdsa", "-b", "521"], ["-t", "rsa", "-b", "2048", "-m", "PEM"], ["-t", "ecdsa", "-m", "PEM"],
      ["-t", "rsa", "-b", "2048", "-m", "PKCS8"], ["-t", "ecdsa", "-b", "384", "-m", "PKCS8"],
    ])
  func kinds(arguments: [String]) async throws {
    try await check(KeyMaker.make("k", arguments, in: folder))
  }

  @Test("what openssl makes for ed25519 signs, too")
  func openssl() async throws {
    let result = try await Program.openssl.run(["genpkey", "-algorithm", "ed25519", "-out", folder["k"]])
    #expect(result.exitCode == 0)
    try await check(folder["k"])
  }

  @Test(
    "encrypted files open with their passphrase",
    arguments: ["aes256-ctr", "aes256-cbc", "aes192-ctr", "aes128-cbc", "aes128-ctr"])
  func encrypted(cipher: String) async throws {
    let path = try await KeyMaker.make(
      "k", ["-t", "ed25519", "-Z", cipher, "-a", "2"], passphrase: "pässword 1", in: folder)
    try await check(path, "pässword 1")
    #expect(problem(path, "pässword 2") == .wrongPassphrase)
    #expect(problem(path) == .noPassphrase)
  }

  @Test("an encrypted RSA key with as many rounds as ssh-keygen takes by default")
  func defaultRounds() async throws {
    try await check(KeyMaker.make("k", ["-t", "rsa", "-b", "2048"], passphrase: "secret", in: folder), "secret")
  }

  @Test("every kind that is not understood says what to do instead")
  func unsupported() async throws {
    let pem = try await KeyMaker.make("pem", ["-t", "rsa", "-m", "PEM"], passphrase: "secret", in: folder)
    #expect(problem(pem, "secret") == .encryptedPEM)
    let pkcs8 = try await KeyMaker.make("p8", ["-t", "ecdsa", "-m", "PKCS8"], passphrase: "secret", in: folder)
    #expect(problem(pkcs8, "secret") == .encryptedPEM)
    let chacha = try await KeyMaker.make(
      "cc", ["-t", "ed25519", "-Z", "chacha20-poly1305@openssh.com"], passphrase: "secret", in: folder)
    #expect(problem(chacha, "secret") == .unsupported("the cipher chacha20-poly1305@openssh.com"))
  }

  @Test("a file that others may read is not used, as ssh does not use it")
  func exposed() async throws {
    let path = try await KeyMaker.make("k", in: folder)
    chmod(path, 0o640)
    #expect(problem(path) == .exposed(mode: 0o640))
  }

  @Test("a file cut or changed anywhere is refused or read, and traps nobody")
  func damaged() async throws {
    let path = try await KeyMaker.make("k", ["-t", "ed25519"], in: folder)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let body = text.split(separator: "\n").dropFirst().dropLast().joined()
    let bytes = try #require(Base64.decode(Array(body.utf8)))
    for length in 0..<bytes.count - 20 {
      #expect(throws: KeyFile.Problem.self) { try OpenSSHKeyFile(Array(bytes[..<length])).unlock(nil) }
    }
    for index in bytes.indices {
      for value in [0x00, 0x7F, 0xFF] as [UInt8] {
        var changed = bytes
        changed[index] = value
        _ = try? OpenSSHKeyFile(changed).unlock(Secret(Array("x".utf8)))
      }
    }
    for content in ["", "garbage", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAAAA\n"] {
      let file = try folder.write(content, to: "g")
      chmod(file, 0o600)
      #expect(problem(file) == .unreadable, "\(content)")
    }
    #expect(problem(folder["missing"]) == .file(.missing))
    #expect(problem(folder.path) == .file(.system(EISDIR)))
  }

  @Test("a file cannot ask for years of work")
  func manyRounds() throws {
    var options = WireWriter()
    options.string([UInt8](repeating: 1, count: 16))
    options.uint32(.max)
    var key = WireWriter()
    key.string("ssh-ed25519".utf8)
    key.string([UInt8](repeating: 1, count: 32))
    var writer = WireWriter()
    writer.string("aes256-ctr".utf8)
    writer.string("bcrypt".utf8)
    writer.string(options.bytes)
    writer.uint32(1)
    writer.string(key.bytes)
    writer.string([UInt8](repeating: 1, count: 64))
    let bytes = Array("openssh-key-v1\0".utf8) + writer.bytes
    #expect(throws: KeyFile.Problem.unsupported("4294967295 rounds of bcrypt")) { try OpenSSHKeyFile(bytes) }
  }

  @Test("a public key stands for itself, and for a private one that is not there")
  func publicHalf() async throws {
    let path = try await KeyMaker.make("k", in: folder)
    let key = try KeyMaker.publicKey(path)
    #expect(Identity(path: "\(path).pub").publicKey == key)
    #expect(Identity(path: "\(path).pub").isPublicOnly)
    #expect(!Identity(path: path).isPublicOnly)
    try FileManager.default.removeItem(atPath: path)
    #expect(Identity(path: path).publicKey == key)
    #expect(Identity(path: path).isPublicOnly)
  }

  @Test("a secret does not show, however it is printed")
  func secret() {
    let secret = Secret(Array("hunter2".utf8))
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])", "\(LoginStep.password(secret))"] {
      #expect(!text.contains("hunter2"))
      // Nor as numbers.
      #expect(!text.contains("104"))
    }
  }
}
