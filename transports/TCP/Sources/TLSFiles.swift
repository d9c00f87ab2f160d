import Byway
import BywayPrimitives
import BywayTLS
import NIOSSL

/// The files of an address, checked: the authorities, and this end's certificate and key.
struct TLSFiles {
  let endpoint: Endpoint
  let options: TLSOptions
  let context: NIOSSLContext

  /// Reads the files that an address names.
  /// - Throws: `BywayError` if the address is invalid, or a file cannot be used.
  init(_ address: LinkAddress) throws {
    endpoint = try Endpoint(address)
    guard endpoint.port != 0 else { throw TCPFailure.noPort(address) }
    options = try TLSOptions(address)
    do {
      context = try options.clientContext()
    } catch {
      var failure = BywayError(error)
      failure.diagnosis = Self.diagnosis(failure, address)
      throw failure
    }
  }

  /// The observation for an examination.
  var outcome: LinkStep.Outcome {
    get throws {
      let authorities = options.ca.map { "The authorities in \($0)" } ?? "The system's authorities"
      guard let (path, _) = options.identity, let certificate = try PEMFile(path).certificates().first else {
        return .sound("\(authorities), and no certificate of this end.")
      }
      let saw = "\(authorities), and the certificate in \(path)."
      let state: String
      switch CertificateLapse(certificate) {
      case .expired?: state = "has expired"
      case .notYetValid?: state = "is not valid yet"
      case nil: return .sound(saw)
      }
      return .noted(
        saw,
        Diagnosis(
          .ownCertificate, "This end's certificate in \(path) \(state): renew it, or correct this machine's clock.",
          command: "openssl x509 -noout -dates -in \(ShellWord.of(path))"))
    }
  }

  private static func diagnosis(_ error: BywayError, _ address: LinkAddress) -> Diagnosis {
    guard let key = address[option: "key"], let status = try? FileStatus(of: key),
      FileExposure(status, for: .group) != nil
    else { return Diagnosis(.badSettings, error.message) }
    return Diagnosis(.exposedKey, error.message, command: "chmod 600 \(ShellWord.of(key))")
  }
}
