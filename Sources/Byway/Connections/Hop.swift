/// How one end of a link names itself in `Via` and `Proxy-Status`.
package enum Hop {
  /// A pseudonym (RFC 9110 §7.6.3) that no other running instance has, so that a loop is told from a chain.
  package static func pseudonym(_ role: String) -> String {
    let tag = String(UInt32.random(in: .min ... .max), radix: 36)
    return "byway-\(role)-\(tag)"
  }
}
