import ArgumentParser
import Byway
import BywayDaemon
import BywayPrimitives
import BywayTLSInterception
import BywayTerminal
import NIOCore

/// The options for the files of certificates and keys.
struct CertificateFileOptions: ParsableArguments {
  private static let sizeLimit = 1 << 20
  private static let mostDays = 36_500

  @Option(
    help: .value("folder", "The folder of all files, with the authority's ca.pem and ca.key. (default: this one)"),
    completion: .directory)
  var folder: String?

  @Flag(help: "Overwrite existing files.")
  var force = false

  var authority: CertificatePair { CertificatePair("ca", in: folder) }

  /// Returns the files of a certificate.
  /// - Throws: ``CommandFailure`` if the name is not one for files, or means the authority.
  func pair(_ name: String) throws(CommandFailure) -> CertificatePair {
    guard name != "ca" else {
      throw CommandFailure(.usage, "ca.pem and ca.key are the files of the authority: choose another name than ca.")
    }
    guard !name.hasPrefix("."), !name.hasPrefix("-"), !name.contains("/"), name.utf8.count <= 128 else {
      throw CommandFailure(
        .usage, "\"\(name)\" cannot name a file: use at most 128 bytes without /, and do not begin with . or -.")
    }
    return CertificatePair(name, in: folder)
  }

  /// - Throws: ``CommandFailure`` if it is no possible number of days.
  func checked(_ days: Int) throws(CommandFailure) -> Int {
    guard (1...Self.mostDays).contains(days) else {
      throw CommandFailure(.usage, "--days \(days): write a number from 1 to \(Self.mostDays).")
    }
    return days
  }

  /// Issues a certificate of the authority in the folder.
  /// - Throws: ``CommandFailure`` if there is none, or it cannot be used.
  func issue(to holder: LocalAuthority.Holder, named name: String, days: Int) throws -> IssuedCertificate {
    let days = try checked(days)
    let pair = authority
    let key: OpenFile
    do { key = try OpenFile(pair.key) } catch {
      throw CommandFailure(
        .noInput,
        "\(BywayError(error).message) Without an authority, run first: \(CertificateText.authorityCommand(self))")
    }
    if let exposure = FileExposure(key.status, for: .owner) {
      throw CommandFailure(.noInput, "\(pair.key): \(exposure).")
    }
    guard key.size <= Self.sizeLimit else {
      throw CommandFailure(.noInput, "\(pair.key) is not a key: it is too large.")
    }
    let certificate = try TextFile.read(pair.certificate)
    do {
      let authority = try LocalAuthority(certificatePEM: certificate, keyPEM: String(buffer: key.readAll()))
      return try authority.issue(to: holder, named: name, days: days)
    } catch let error as BywayError where error.code == .unreadableFile {
      throw CommandFailure(.noInput, "\(pair.certificate) cannot issue certificates: \(error.message)")
    } catch {
      throw CommandFailure(
        .noInput,
        "\(pair.certificate) and \(pair.key) are not an authority for this command: it needs one certificate and its key "
          + "for P-256, as it makes them itself.")
    }
  }
}
