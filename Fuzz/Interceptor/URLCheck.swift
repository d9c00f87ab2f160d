import BywayInterceptors
public import FuzzSupport

/// The properties of any reference in the response of any target. Each half of the input is one of them.
public enum URLCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    let halves = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    let base = URIReference(halves[0])
    try check(base, halves[0])
    let target = TargetURI(scheme: base.scheme ?? "http", authority: base.authority ?? "", path: base.pathAndQuery)
    try check(target)
    guard halves.count == 2 else { return }
    let reference = URIReference(halves[1])
    try check(reference, halves[1])
    let resolved = target.resolving(reference)
    try check(resolved)
    // RFC 3986 §5.2.2: only a reference with a scheme or an authority leads to another server.
    let stays = reference.scheme == nil && reference.authority == nil
    try expect(!stays || resolved.hasOrigin(of: target), "\(halves[1]) leads from \(target.key) to \(resolved.key)")
  }

  private static func check(_ reference: URIReference, _ text: String) throws(Violation) {
    let scheme = reference.scheme.map { "\($0):" } ?? ""
    let written = scheme + (reference.authority.map { "//\($0)" } ?? "") + reference.pathAndQuery
    try expect(text.utf8.starts(with: written.utf8), "\(text) is taken apart as \(written)")
  }

  private static func check(_ target: TargetURI) throws(Violation) {
    let again = TargetURI(scheme: target.scheme, authority: target.authority, path: target.path)
    try expect(again == target, "\(target.key) has another canonical form: \(again.key)")
    try expect(!target.authority.dropFirst().utf8.contains(UInt8(ascii: "@")), "a login stays in \(target.key)")
    if target.path == "*" { return }
    try expect(target.path.utf8.first == UInt8(ascii: "/"), "no path: \(target.path)")
    try expect(target.path.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "no path: \(target.path)")
    let segments = target.path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
    try expect(!segments.contains("..") && !segments.contains("."), "it can still be shortened: \(target.path)")
  }
}
