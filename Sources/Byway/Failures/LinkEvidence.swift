/// The evidence of an error that tells whether waiting helps.
package protocol LinkEvidence: Sendable {
  /// Whether another attempt would fail in the same way.
  var isLasting: Bool { get }
}
