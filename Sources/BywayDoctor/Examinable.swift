package import Byway

/// A transport that can look at what lies below its streams, from the ground up.
package protocol Examinable: Transport {
  /// Makes its checks, in their order, as far as it has sense.
  /// - Returns: what the checks above may build on.
  func examine(_ address: LinkAddress, in examination: Examination) async throws(Examination.Over) -> Ground

  /// The transport that an examination uses in place of this one, where that would leave something behind, a host that it has come
  /// to know for example.
  var examined: any Examinable { get }

  /// What it means that a link which could be opened came to nothing, where the medium knows.
  func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis?
}

extension Examinable {
  package var examined: any Examinable { self }

  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? { nil }
}

/// What the checks of a transport conclude.
package enum Ground: Sendable {
  /// A stream can be opened, or has been once.
  case free
  /// A process has the medium for itself, and must not be disturbed.
  case taken(by: Int32)
  /// It is for the far end to open a stream, and nobody can be asked whether it would.
  case unasked
}
