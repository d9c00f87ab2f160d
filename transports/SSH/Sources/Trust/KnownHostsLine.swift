import Byway
import BywayPrimitives
import Crypto

/// A line of a known_hosts file (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT").
package struct KnownHostsLine: Sendable, Hashable {
  package enum Marker: String, Sendable {
    case revoked = "@revoked"
    case certificateAuthority = "@cert-authority"
  }

  /// The reason why a line cannot be used.
  package enum Problem: Error {
    case unknownMarker, missingFields, badHash, badKey, keyOfAnotherType
  }

  package let marker: Marker?
  package let names: Names
  package let key: PublicKey

  package enum Names: Sendable, Hashable {
    case patterns([String])
    case hashed(salt: [UInt8], hash: [UInt8])
  }

  /// - Returns: `nil` for a blank line, a comment, or a line that names only other hosts, whose key is not examined.
  package static func parse(_ line: ArraySlice<UInt8>, for name: KnownHostName) throws(Problem) -> KnownHostsLine? {
    // A space, a tab, or the carriage return of a file edited on another system.
    var fields = line.split(maxSplits: 4, whereSeparator: { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D })[...]
    guard let first = fields.first, first.first != UInt8(ascii: "#") else { return nil }
    var marker: Marker?
    if first.first == UInt8(ascii: "@") {
      marker = Marker(rawValue: String(decoding: first, as: UTF8.self))
      guard marker != nil else { throw .unknownMarker }
      fields = fields.dropFirst()
    }
    guard fields.count >= 3, let hosts = fields.popFirst(), let type = fields.popFirst(), let text = fields.popFirst()
    else { throw .missingFields }
    let names = try Names(hosts)
    guard names.match(name) else { return nil }
    guard let key = Base64.decode(text).flatMap(PublicKey.init) else { throw .badKey }
    guard key.type.utf8.elementsEqual(type) else { throw .keyOfAnotherType }
    return KnownHostsLine(marker: marker, names: names, key: key)
  }
}

/// A host as known_hosts names it: the bare name for port 22, `[name]:port` for any other.
package struct KnownHostName: Sendable, Hashable, CustomStringConvertible {
  package let description: String

  package init(host: String, port: Int) {
    let host = host.lowercased()
    description = port == 22 ? host : "[\(host)]:\(port)"
  }

  /// Whether the name matches only this host when used as a pattern in known_hosts.
  var isLiteral: Bool {
    description.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"*?!,|#@".utf8.contains($0) }
  }
}

extension KnownHostsLine.Names {
  init(_ field: ArraySlice<UInt8>) throws(KnownHostsLine.Problem) {
    guard field.first == UInt8(ascii: "|") else {
      self = .patterns(
        field.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self).lowercased() })
      return
    }
    let parts = field.split(separator: UInt8(ascii: "|"))
    guard parts.count == 3, parts[0].elementsEqual("1".utf8), let salt = Base64.decode(parts[1]),
      let hash = Base64.decode(parts[2]), salt.count == 20, hash.count == 20
    else { throw .badHash }
    self = .hashed(salt: salt, hash: hash)
  }

  /// Hashes the name, so that readers of the file do not learn it (`HashKnownHosts`).
  init(hashing name: KnownHostName) {
    var generator = SystemRandomNumberGenerator()
    let salt = (0..<20).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    self = .hashed(salt: salt, hash: Self.hash(name, salt: salt))
  }

  func match(_ name: KnownHostName) -> Bool {
    switch self {
    case .patterns(let patterns): PatternList.matches(name.description, patterns)
    case .hashed(let salt, let hash): Self.hash(name, salt: salt) == hash
    }
  }

  private static func hash(_ name: KnownHostName, salt: [UInt8]) -> [UInt8] {
    Array(
      HMAC<Insecure.SHA1>.authenticationCode(for: Array(name.description.utf8), using: SymmetricKey(data: salt)))
  }
}

extension KnownHostsLine: CustomStringConvertible {
  /// The line as written in the file.
  package var description: String {
    let names =
      switch names {
      case .patterns(let patterns): patterns.joined(separator: ",")
      case .hashed(let salt, let hash): "|1|\(Base64.encode(salt))|\(Base64.encode(hash))"
      }
    return (marker.map { "\($0.rawValue) " } ?? "") + "\(names) \(key.type) \(Base64.encode(key.blob))"
  }
}
