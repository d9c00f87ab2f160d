/// The known_hosts entries for one host. Takes text, and returns a verdict.
package struct KnownHosts: Sendable {
  /// The file and line number of an entry.
  package struct Place: Sendable, Hashable, CustomStringConvertible {
    package let file: String
    package let line: Int
    package var description: String { "\(file):\(line)" }
  }

  package struct Entry: Sendable {
    package let place: Place
    package let line: KnownHostsLine
  }

  package enum Verdict: Sendable {
    case trusted
    /// No key is listed.
    case unknown
    /// Other keys of that host are listed.
    case changed([Entry])
    case revoked(Place)
    /// Only a certificate authority is listed. Certificates are not supported.
    case certificateAuthority(Place)
  }

  let name: KnownHostName
  /// The lines that name the host, in the order read.
  package private(set) var entries: [Entry] = []
  /// The number of invalid lines, and the first few of them.
  package private(set) var badLines: (count: Int, first: [Place]) = (0, [])

  package init(for name: KnownHostName) { self.name = name }

  /// Adds a file's lines.
  package mutating func read(_ text: [UInt8], from file: String) {
    var number = 0
    for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let place = Place(file: file, line: number)
      do {
        guard let line = try KnownHostsLine.parse(line, for: name) else { continue }
        entries.append(Entry(place: place, line: line))
      } catch {
        badLines.count += 1
        if badLines.count <= 3 { badLines.first.append(place) }
      }
    }
  }

  /// Returns the verdict on a key. A revoked key is refused even if it is also listed as trusted. A key of another type than
  /// the listed ones is a change, too: an attacker in between could offer any type.
  package func verify(_ key: PublicKey) -> Verdict {
    if let entry = entries.first(where: { $0.line.marker == .revoked && $0.line.key == key }) {
      return .revoked(entry.place)
    }
    let listed = entries.filter { $0.line.marker == nil }
    if listed.contains(where: { $0.line.key == key }) { return .trusted }
    if !listed.isEmpty { return .changed(listed) }
    if let authority = entries.first(where: { $0.line.marker == .certificateAuthority }) {
      return .certificateAuthority(authority.place)
    }
    return .unknown
  }

  /// The algorithms of the listed keys, in OpenSSH's order of preference. An RSA key signs with SHA-2 (RFC 8332 §2).
  var algorithms: [String] {
    let types = Set(entries.filter { $0.line.marker == nil }.map(\.line.key.type))
    return Self.preference.filter { types.contains($0.keyType) }.map(\.algorithm)
  }

  private static let preference: [(algorithm: String, keyType: String)] = [
    ("ssh-ed25519", "ssh-ed25519"),
    ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"),
    ("ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"),
    ("ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"),
    ("rsa-sha2-512", "ssh-rsa"),
    ("rsa-sha2-256", "ssh-rsa"),
  ]
}
