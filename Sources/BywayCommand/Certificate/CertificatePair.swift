import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore

/// The two files of a certificate: its own, which anyone may read, and the key's, which only its owner may.
struct CertificatePair {
  let certificate: String
  let key: String

  init(_ name: String, in folder: String?) {
    let base = folder.map { $0.hasSuffix("/") ? "\($0)\(name)" : "\($0)/\(name)" } ?? name
    certificate = "\(base).pem"
    key = "\(base).key"
  }

  /// Returns the options of a tls: address for this certificate and an authority.
  func options(ca: String) -> String { "cert=\(certificate)&key=\(key)&ca=\(ca)" }

  /// Writes both files. Each appears complete, or not at all; a key is never readable by others, not even for a moment.
  /// - Throws: ``CommandFailure`` if a file exists and is not to be replaced, or cannot be written.
  func write(certificate text: String, key keyText: String, replacing: Bool) throws(CommandFailure) {
    let keyDraft = try draft(keyText, for: key, 0o600)
    defer { unlink(keyDraft) }
    let certificateDraft = try draft(text, for: certificate, 0o644)
    defer { unlink(certificateDraft) }
    if replacing {
      try Self.check(rename(keyDraft, key), key)
      try Self.check(rename(certificateDraft, certificate), certificate)
    } else {
      // A second name must be free, so that no file is overwritten that another program makes at the same time.
      try Self.check(link(keyDraft, key), key)
      do throws(CommandFailure) {
        try Self.check(link(certificateDraft, certificate), certificate)
      } catch {
        unlink(key)
        throw error
      }
    }
  }

  private static func check(_ result: CInt, _ path: String) throws(CommandFailure) {
    if result != 0 { throw failure(path, .last) }
  }

  private static func failure(_ path: String, _ error: SystemError) -> CommandFailure {
    error.code == EEXIST
      ? CommandFailure(.cannotCreate, "\(path) exists already: --force overwrites it.")
      : CommandFailure(.cannotCreate, "Cannot write \(path): \(error).")
  }

  /// Writes a file under a name that no other program uses.
  private func draft(_ text: String, for path: String, _ mode: UInt32) throws(CommandFailure) -> String {
    let draft = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max))"
    do throws(SystemError) {
      let descriptor = try Descriptor.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
      defer { close(descriptor) }
      do throws(SystemError) {
        try Descriptor.write(ByteBuffer(string: text), to: descriptor)
        try SystemError.check(fsync(descriptor))
      } catch {
        unlink(draft)
        throw error
      }
    } catch {
      throw Self.failure(path, error)
    }
    return draft
  }
}
