/// The name of one end of a link in `Via` and `Proxy-Status`.
package enum Hop {
  /// Makes a pseudonym (RFC 9110 §7.6.3) that is unique among running instances, so that a loop differs from a chain.
  package static func pseudonym(_ role: String) -> String {
    let tag = String(UInt32.random(in: .min ... .max), radix: 36)
    return "byway-\(role)-\(tag)"
  }
}
