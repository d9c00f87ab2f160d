public import FuzzSupport
import SSHTransport

/// The properties of any file of known hosts. The first line is a key's bytes and the host that showed it.
public enum KnownHostsCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    var script = Script(input)
    let setting = script.byte()
    let key = script.bytes()
    let name = KnownHostName(
      host: ["device.example", "192.0.2.1", "2001:db8::1", "d*"][Int(setting & 3)], port: setting & 4 == 0 ? 22 : 2222)
    let text = script.all()
    var known = KnownHosts(for: name)
    known.read(text, from: "file")

    let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
    try expect(known.entries.count + known.badLines.count <= lines.count, "more entries than lines")
    for entry in known.entries { try check(entry, lines, name) }
    for listed in known.entries.map(\.line.key) { try verify(listed, known) }
    if let key = PublicKey(key) { try verify(key, known) }

    // The meaning of a line depends on that line alone.
    var backwards = KnownHosts(for: name)
    backwards.read(Array(lines.reversed().joined(separator: [0x0A])), from: "file")
    try expect(
      backwards.entries.map(\.line) == known.entries.map(\.line).reversed(), "lines change others: \(known.entries)")
  }

  private static func check(_ entry: KnownHosts.Entry, _ lines: [ArraySlice<UInt8>], _ name: KnownHostName)
    throws(Violation)
  {
    let number = entry.place.line
    try expect((1...lines.count).contains(number), "there is no line \(number)")
    try expect(lines[number - 1].contains(0x20) || lines[number - 1].contains(0x09), "an entry out of one word")
    let written = entry.line.description
    let reread: KnownHostsLine?
    do {
      reread = try KnownHostsLine.parse(Array(written.utf8)[...], for: name)
    } catch {
      throw Violation("what was read cannot be read again: \(written)")
    }
    try expect(reread == entry.line, "\(written) is read again as \(String(describing: reread))")
  }

  /// Checks that only a line without a marker makes a key trusted, and that a revoked key is never trusted.
  private static func verify(_ key: PublicKey, _ known: KnownHosts) throws(Violation) {
    let isRevoked = known.entries.contains { $0.line.marker == .revoked && $0.line.key == key }
    let isListed = known.entries.contains { $0.line.marker == nil && $0.line.key == key }
    switch known.verify(key) {
    case .trusted: try expect(isListed && !isRevoked, "trusted, and not listed: \(key)")
    case .revoked: try expect(isRevoked, "revoked by nobody: \(key)")
    case .changed(let entries): try expect(!isListed && !isRevoked && !entries.isEmpty, "changed, and listed: \(key)")
    case .unknown, .certificateAuthority: try expect(!isListed && !isRevoked, "listed, and not found: \(key)")
    }
  }
}
