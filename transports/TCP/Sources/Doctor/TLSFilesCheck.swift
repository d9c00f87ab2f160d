import Byway
import BywayDoctor
import BywayTLS
import Glibc
import NIOSSL
import Primitives

/// Checks that the files of the address can be used: the authorities, and this end's certificate and key.
struct TLSFilesCheck: Check {
  static let title = "files"

  let address: LinkAddress

  func examine(_ resources: OpenedResources) async throws -> Finding<Endpoint> {
    do {
      let endpoint = try Endpoint(address)
      guard endpoint.port != 0 else { throw TCPFailure.noPort(address) }
      let options = try TLSOptions(address)
      _ = try options.clientContext()
      guard let (path, _) = options.identity, let certificate = try PEMFile(path).certificates().first else {
        return .sound("\(authorities(options)), and no certificate of this end.", endpoint)
      }
      let saw = "\(authorities(options)), and the certificate in \(path)."
      let now = time(nil)
      if certificate.notValidAfter < now || certificate.notValidBefore > now {
        let what = certificate.notValidAfter < now ? "has expired" : "is not valid yet"
        return .noted(
          saw,
          Diagnosis(
            .ownCertificate, "This end's certificate in \(path) \(what): renew it, or correct this machine's clock.",
            command: "openssl x509 -noout -dates -in \(ShellWord.of(path))"), endpoint)
      }
      return .sound(saw, endpoint)
    } catch {
      return .wrong(diagnosis(BywayError(error)))
    }
  }

  private func authorities(_ options: TLSOptions) -> String {
    options.ca.map { "The authorities in \($0)" } ?? "The system's authorities"
  }

  private func diagnosis(_ error: BywayError) -> Diagnosis {
    guard let key = address[option: "key"], let status = try? FileStatus(of: key),
      FileExposure(status, for: .group) != nil
    else { return Diagnosis(.badSettings, error.message) }
    return Diagnosis(.exposedKey, error.message, command: "chmod 600 \(ShellWord.of(key))")
  }
}
