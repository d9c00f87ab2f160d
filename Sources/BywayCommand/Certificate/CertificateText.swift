import Byway
import BywayPrimitives

/// The texts that end `byway certificate`: what was made, and the commands that use it.
enum CertificateText {
  static func authorityCommand(_ files: CertificateFileOptions) -> String {
    "byway certificate authority\(folder(files))"
  }

  static func authority(
    _ name: String, _ pair: CertificatePair, until expiry: Int, _ files: CertificateFileOptions
  ) -> String {
    """
    \(pair.certificate) is the authority "\(name)" until \(TrustText.date(expiry)). Keep \(pair.key) here, and give it to nobody.
    Next, for each device and each user:
      byway certificate device\(folder(files)) NAME
      byway certificate user\(folder(files)) NAME

    """
  }

  static func device(
    _ names: CertificateNames, _ pair: CertificatePair, until expiry: Int, _ files: CertificateFileOptions
  ) -> String {
    let ca = files.authority.certificate
    let dialing = dialing(names, "tls://HUB:7000?open=dial&\(pair.options(ca: ca))")
    return """
      \(pair.certificate) is valid for \(names.texts.joined(separator: ", ")) until \(TrustText.date(expiry)).
      On the device, with \(pair.certificate), \(pair.key) and \(ca), accept the holders of certificates of this authority:
        byway gateway --origin http://127.0.0.1:80 --link \(ShellWord.quoted("tls://0.0.0.0:7000?\(pair.options(ca: ca))"))
      \(dialing)If the device has a service of https with this certificate, trust it at the other end of the link:
        byway trust add \(ShellWord.of(names.file)) \(ShellWord.of(ca))

      """
  }

  /// Returns how the device dials a hub; empty if it has no name for a hub.
  private static func dialing(_ names: CertificateNames, _ link: String) -> String {
    guard DeviceName(names.file) != nil else { return "" }
    return """
      If the device dials a hub that has a certificate of this authority:
        byway gateway --name \(names.file) --origin http://127.0.0.1:80 --link \(ShellWord.quoted(link))

      """
  }

  static func user(
    _ name: String, _ pair: CertificatePair, until expiry: Int, _ files: CertificateFileOptions
  ) -> String {
    let ca = files.authority.certificate
    return """
      \(pair.certificate) is valid for \(name) until \(TrustText.date(expiry)).
      To use a device that listens with a certificate of this authority, with \(pair.certificate), \(pair.key) and \(ca):
        byway request --link \(ShellWord.quoted("tls://NAME:7000?\(pair.options(ca: ca))")) http://localhost/
      To log in to a proxy that listens with such a certificate and this authority as ca=:
        curl --cert \(ShellWord.of(pair.certificate)) --key \(ShellWord.of(pair.key)) --cacert \(ShellWord.of(ca)) https://NAME:8443/

      """
  }

  private static func folder(_ files: CertificateFileOptions) -> String {
    files.folder.map { " --folder \(ShellWord.of($0))" } ?? ""
  }
}
