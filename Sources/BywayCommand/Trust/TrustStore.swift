import Byway
import BywayHTTPWire
import BywayLibC
import BywayPrimitives
import BywayTLS
import BywayTerminal

/// The certificates and keys that a user trusts, for one host each: `HOST/FINGERPRINT.pem` and `HOST/DIGEST.pin` in a folder that
/// only the user may access.
///
/// An entry is a file that appears and disappears as a whole, so any number of processes may read and change the store.
struct TrustStore: Sendable {
  struct Entry: Sendable {
    let host: String
    let kind: Kind
    fileprivate let folder: ConfigurationFolder
    fileprivate let file: String
    /// The name of the entry for `byway trust remove`.
    var name: String {
      switch kind {
      case .certificate(let facts): facts.fingerprintText
      case .pin(let pin): pin.description
      }
    }
  }

  enum Kind: Sendable {
    case certificate(CertificateFacts)
    case pin(KeyPin)
  }

  private let folder: ConfigurationFolder

  init() throws(CommandFailure) {
    folder = try ConfigurationFolder("trust")
  }

  /// - Parameter source: A PEM file, or a pin.
  /// - Returns: The new entries.
  func add(_ source: String, for host: String) throws -> [Entry] {
    let host = try Self.checked(host)
    var kinds: [Kind]
    if source.hasPrefix("sha256//") {
      kinds = [.pin(try KeyPin(source))]
    } else {
      guard access(source, R_OK) == 0 else {
        throw CommandFailure(.noInput, "Cannot read \(source): \(SystemError.last).")
      }
      kinds = try CertificateFacts.read(PEMFile(source)).map { .certificate($0) }
    }
    return try kinds.map { try add($0, for: host) }
  }

  func add(_ certificate: CertificateFacts, for host: String) throws -> Entry {
    try add(.certificate(certificate), for: Self.checked(host))
  }

  private func add(_ kind: Kind, for host: String) throws -> Entry {
    let (name, text) =
      switch kind {
      case .certificate(let facts): (facts.fingerprintName + ".pem", facts.pem)
      case .pin(let pin): (pin.fileName + ".pin", "\(pin)\n")
      }
    let hostFolder = folder.subfolder(host)
    try hostFolder.write(text, to: name)
    return Entry(host: host, kind: kind, folder: hostFolder, file: name)
  }

  /// Returns the entries, sorted by host.
  func entries(of host: String? = nil) throws -> [Entry] {
    let hosts = try host.map { [try Self.checked($0)] } ?? folder.names()
    return try hosts.flatMap { host -> [Entry] in
      let hostFolder = folder.subfolder(host)
      return try hostFolder.names().compactMap { name in
        guard let kind = try Self.read(name, in: hostFolder) else { return nil }
        return Entry(host: host, kind: kind, folder: hostFolder, file: name)
      }
    }
  }

  /// - Parameter name: A fingerprint, with or without colons, or a pin; `nil` for everything of that host.
  /// - Returns: The removed entries.
  func remove(_ name: String?, for host: String) throws -> [Entry] {
    let wanted = name.map(Self.plain)
    let removed = try entries(of: host).filter { wanted == nil || Self.plain($0.name) == wanted }
    for entry in removed { try entry.folder.remove(entry.file) }
    try folder.subfolder(Self.checked(host)).removeIfEmpty()
    return removed
  }

  /// Returns everything that is trusted.
  func trust() throws -> ServerTrust {
    var trust = ServerTrust()
    for entry in try entries() {
      switch entry.kind {
      case .certificate(let facts):
        trust.add([facts.certificate], for: entry.host, source: "\(entry.folder.path)/\(entry.file)")
      case .pin(let pin): trust.add(pin, for: entry.host)
      }
    }
    return trust
  }

  /// Reads an entry. Returns `nil` if another process has removed it meanwhile.
  private static func read(_ name: String, in folder: ConfigurationFolder) throws -> Kind? {
    guard let text = try folder.text(name) else { return nil }
    if name.hasSuffix(".pin") { return .pin(try KeyPin(String(text.prefix { !$0.isWhitespace }))) }
    guard name.hasSuffix(".pem") else { return nil }
    return try CertificateFacts.read(PEMFile(text: text, name: "\(folder.path)/\(name)")).first.map { .certificate($0) }
  }

  /// Returns the host as the name of a folder.
  private static func checked(_ text: String) throws(CommandFailure) -> String {
    do throws(AuthorityFlaw) {
      // A host contains no slash and does not begin with a dot, so it can be the name of a file.
      return try Host(text).text
    } catch {
      // Trust applies to a host, whatever its ports.
      if let named = try? Authority(text), named.port != nil {
        throw CommandFailure(
          .usage, "A certificate is trusted for a host, not for a port: write \(named.host.bracketed).")
      }
      throw CommandFailure(.usage, BywayError(.invalidAddress, place: text, error).message)
    }
  }

  private static func plain(_ name: String) -> String {
    name.hasPrefix("sha256//") ? name : name.replacing(":", with: "").lowercased()
  }
}

extension KeyPin {
  /// The pin as the name of a file, which cannot contain `/`.
  fileprivate var fileName: String { String(description.dropFirst(8)).replacing("/", with: "_") }
}
