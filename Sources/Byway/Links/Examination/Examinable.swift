/// A transport that can examine the layers below its streams.
package protocol Examinable: Transport {
  /// Makes its checks in order, until one finds a fault. Instead of `connect`, which would use the medium more than needed.
  /// - Returns: the state of the medium, for later checks.
  func examine(_ address: LinkAddress, in context: LinkContext) async throws(ExaminationEnd) -> MediumState

  /// The transport that an examination uses instead of this one, if this one would leave traces, such as an entry for a new host.
  var examined: any Examinable { get }

  /// Explains why a link that could be opened failed; `nil` if the medium does not know.
  func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis?
}

extension Examinable {
  package var examined: any Examinable { self }

  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? { nil }
}

/// The state of a medium, as the checks of its transport have found it.
package enum MediumState: Sendable {
  /// A stream can be opened, or has been opened once.
  case free
  /// A process uses the medium exclusively, and must not be disturbed.
  case taken(by: Int32)
  /// Only the far end opens a stream, and this end cannot ask it to.
  case unasked
}
