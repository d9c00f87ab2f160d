import Byway
import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing

@testable import SSHTransport

@Suite("Private key files")
struct LoginKeyFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func check(_ path: String) async throws {
    let file = try KeyFile(path: path)
    guard case .clear(let key) = file.privateKey else {
      Issue.record("\(file.privateKey)")
      return
    }
    #expect(try key.publicBlob() == file.publicKey.blob)
    if FileManager.default.fileExists(atPath: "\(path).pub") {
      #expect(try file.publicKey == KeyMaker.publicKey(path))
    }
    let signature = try key.sign(SignatureCheck.signed)
    #expect(try await SignatureCheck.isGood(signature, by: file.publicKey))
  }

  private func problem(_ path: String) -> KeyFile.Problem? {
    do throws(KeyFile.Problem) {
      if case .unusable(let problem) = try KeyFile(path: path).privateKey { return problem }
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "ssh-keygen accepts signatures of its own keys, in OpenSSH's format and as PEM",
    arguments: [
      ["-t", "ed25519"], ["-t", "rsa", "-b", "2048"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"],
      ["-t", "ecdsa", "-b", "521"], ["-t", "rsa", "-b", "2048", "-m", "PEM"], ["-t", "ecdsa", "-m", "PEM"],
      ["-t", "rsa", "-b", "2048", "-m", "PKCS8"], ["-t", "ecdsa", "-b", "384", "-m", "PKCS8"],
    ])
  func kinds(arguments: [String]) async throws {
    try await check(KeyMaker.make("k", arguments, in: folder))
  }

  @Test("an ed25519 key file made by openssl can sign")
  func openssl() async throws {
    let result = try await Program.openssl.run(["genpkey", "-algorithm", "ed25519", "-out", folder["k"]])
    #expect(result.exitCode == 0)
    try await check(folder["k"])
  }

  @Test("if the kind of a key is not supported, the error says what to use, and its public half is still read")
  func unsupported() async throws {
    let pem = try await KeyMaker.make("pem", ["-t", "rsa", "-m", "PEM"], passphrase: "secret", in: folder)
    #expect(problem(pem) == .unsupported("an encrypted PEM file"))
    let pkcs8 = try await KeyMaker.make("p8", ["-t", "ecdsa", "-m", "PKCS8"], passphrase: "secret", in: folder)
    #expect(problem(pkcs8) == .unsupported("an encrypted PEM file"))
    for (arguments, what) in [
      (["-t", "ed25519", "-Z", "chacha20-poly1305@openssh.com"], "a key encrypted with chacha20-poly1305@openssh.com"),
      (["-t", "ed25519", "-Z", "aes256-gcm@openssh.com"], "a key encrypted with aes256-gcm@openssh.com"),
      (["-t", "rsa"], "an encrypted RSA key"), (["-t", "dsa"], "a key of type ssh-dss"),
    ] {
      let passphrase = what.contains("encrypted") ? "secret" : ""
      let path = try await KeyMaker.make(what, arguments, passphrase: passphrase, in: folder)
      #expect(problem(path) == .unsupported(what))
      #expect(problem(path)?.description.hasSuffix("use it through the ssh-agent (ssh-add FILE)") == true)
      #expect(try KeyFile(path: path).publicKey == KeyMaker.publicKey(path))
    }
  }

  @Test("a key file that other users may read is not used, as in ssh")
  func exposed() async throws {
    let path = try await KeyMaker.make("k", in: folder)
    chmod(path, 0o640)
    let exposure = try #require(FileExposure(FileStatus(of: path), for: .owner))
    #expect(problem(path) == .exposed(exposure))
    #expect(exposure.description == "others may read it (mode 640), so it is not used: run chmod 600 on it")
  }

  @Test("a key file that is cut or changed anywhere is refused or read, without a crash")
  func damaged() async throws {
    let path = try await KeyMaker.make("k", ["-t", "ed25519"], in: folder)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let body = text.split(separator: "\n").dropFirst().dropLast().joined()
    let bytes = try #require(Base64.decode(Array(body.utf8)))
    for length in 0..<bytes.count - 20 {
      #expect(throws: KeyFile.Problem.self) { try OpenSSHKeyFile(Array(bytes[..<length])) }
    }
    for index in bytes.indices {
      for value in [0x00, 0x7F, 0xFF] as [UInt8] {
        var changed = bytes
        changed[index] = value
        _ = try? OpenSSHKeyFile(changed)
      }
    }
    for content in ["", "garbage", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAAAA\n"] {
      let file = try folder.write(content, to: "g")
      chmod(file, 0o600)
      #expect(problem(file) == .unreadable, "\(content)")
    }
    #expect(problem(folder["missing"]) == .file(.missing))
    #expect(problem(folder.path) == .file(.refused(.notRegular(.folder))))
  }

  @Test("a key file that asks for too many rounds of bcrypt is refused")
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
    let file = try OpenSSHKeyFile(bytes)
    guard case .unusable(let problem) = file.privateKey else {
      Issue.record("\(file.privateKey)")
      return
    }
    #expect(problem == .unsupported("an encrypted key with 4294967295 rounds of bcrypt"))
  }

  @Test("a public key file can be read, also in place of a missing private one")
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

  @Test("a secret is not shown by any form of printing")
  func secret() {
    let secret = Secret(Array("hunter2".utf8))
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), dumped, "\([secret])", "\(LoginStep.password(secret))"] {
      #expect(!text.contains("hunter2"))
      // Not as numbers, either.
      #expect(!text.contains("104"))
    }
  }
}
