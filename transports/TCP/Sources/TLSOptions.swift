import Byway
import BywayPrimitives
import BywayTLS
import Logging
import NIOSSL

/// The files that an address names, and the TLS configuration made from them.
struct TLSOptions {
  static let all = [
    LinkOption("ca", "PEM file of the authorities that the other end's certificate must come from"),
    LinkOption("cert", "PEM file of this end's certificate chain"),
    LinkOption("key", "PEM file of this end's private key"),
    LinkOption("clients", "any: a listener also accepts clients without a certificate, which TLS does not identify"),
    LinkOption("name", "name to ask for and to verify in the listener's certificate; the host by default"),
  ]

  static let anyClient = "any"

  let ca: String?
  let identity: (cert: String, key: String)?
  let name: String?
  let takesAnyClient: Bool
  private let address: LinkAddress
  private let protocolName: String
  private let unusable: BywayError.Code

  /// - Parameter unusable: the error code if files cannot be used: a link that fails for that reason may be opened later.
  init(_ address: LinkAddress, unusable: BywayError.Code = .linkUnavailable) throws {
    self.unusable = unusable
    for option in ["ca", "cert", "key", "name", "clients"] where address[option: option] == "" {
      throw BywayError(.invalidAddress, "\(option)= in \(address) is empty: give it a value, or leave it out.")
    }
    ca = address[option: "ca"]
    switch (address[option: "cert"], address[option: "key"]) {
    case (let cert?, let key?): identity = (cert, key)
    case (nil, nil): identity = nil
    default: throw BywayError(.invalidAddress, "\(address) needs both cert=FILE and key=FILE, or neither.")
    }
    name = try address[option: "name"].map(PeerName.host)
    takesAnyClient = address[option: "clients"] != nil
    if let clients = address[option: "clients"], clients != Self.anyClient {
      throw BywayError(.invalidAddress, "clients=\(clients) is unknown: write clients=any, or leave it out.")
    }
    // The ALPN names of RFC 7301 §6 and RFC 9113 §3.2.
    protocolName = address[option: "http"] == "1.1" ? "http/1.1" : "h2"
    self.address = address
  }

  func clientContext() throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    if let ca { configuration.trustRoots = .certificates(try certificates("ca", ca)) }
    if let identity {
      configuration.certificateChain = try certificates("cert", identity.cert).map { .certificate($0) }
      configuration.privateKey = .privateKey(try privateKey(identity.key))
    }
    configuration.applicationProtocols = [protocolName]
    return try context(configuration)
  }

  /// Creates the configuration of a listener. If there is an authority, a client must have a certificate of it, unless any client is
  /// accepted. A certificate that a client has must be valid.
  func serverContext() throws -> NIOSSLContext {
    guard let identity else {
      throw BywayError(.invalidAddress, "\(address) needs cert=FILE and key=FILE to listen with.")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try certificates("cert", identity.cert).map { .certificate($0) },
      privateKey: .privateKey(try privateKey(identity.key)))
    if let ca {
      configuration.trustRoots = .certificates(try certificates("ca", ca))
      configuration.certificateVerification = takesAnyClient ? .optionalVerification : .noHostnameVerification
    }
    // Browsers and curl offer both and speak either. The peer of a link offers its own protocol.
    configuration.applicationProtocols = protocolName == "h2" ? ["h2", "http/1.1"] : [protocolName]
    return try context(configuration)
  }

  /// Logs a warning if this end's certificate is not valid now: the other end refuses it, and only its user would see that.
  /// - Parameter lapses: the warnings of earlier attempts, which are not repeated; `nil`: there is only one.
  func warnOfExpiry(_ logger: Logger, _ lapses: LapseLog? = nil) {
    guard let identity, let certificate = try? certificates("cert", identity.cert).first else { return }
    let lapse = CertificateLapse(certificate)
    let level = lapses?.level(of: lapse, in: identity.cert) ?? .warning
    switch lapse {
    case .expired(let time)?:
      logger.log(
        level: level, "This end's certificate has expired: renew it",
        metadata: ["file": "\(identity.cert)", "expired": "\(CalendarTime(secondsSinceEpoch: time).utc)"])
    case .notYetValid(let time)?:
      logger.log(
        level: level, "This end's certificate is not valid yet",
        metadata: ["file": "\(identity.cert)", "begins": "\(CalendarTime(secondsSinceEpoch: time).utc)"])
    case nil: break
    }
  }

  private func context(_ configuration: TLSConfiguration) throws -> NIOSSLContext {
    var configuration = configuration
    configuration.minimumTLSVersion = .tlsv12
    // The time for a peer to answer our close_notify.
    configuration.shutdownTimeout = .seconds(1)
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw BywayError(
        unusable, "The certificate in cert= and the key in key= of \(address) do not belong together.",
        processing: .none, cause: error)
    }
  }

  private func certificates(_ option: String, _ path: String) throws -> [NIOSSLCertificate] {
    try file(option, path).certificates()
  }

  private func privateKey(_ path: String) throws -> NIOSSLPrivateKey {
    try file("key", path).privateKey()
  }

  private func file(_ option: String, _ path: String) -> PEMFile {
    PEMFile(path, name: "\(path) (\(option)=)", code: unusable)
  }
}
