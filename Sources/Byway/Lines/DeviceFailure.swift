/// The reason why the device of a line could not be opened, with a message for the user.
package protocol DeviceFailure: Error {
  /// Whether the device may appear later, so that a listener waits for it.
  var isAbsence: Bool { get }
  var message: String { get }
  var fault: LinkFault { get }
  var diagnosis: Diagnosis { get }
  /// An error that explains more than the message.
  var cause: (any Error)? { get }
}

extension DeviceFailure {
  package var diagnosis: Diagnosis { Diagnosis(fault, message) }

  package var cause: (any Error)? { nil }
}

package enum DeviceFailures {
  /// Opens a device or waits for it.
  /// - Throws: ``BywayError`` for a ``DeviceFailure``; other errors as they are.
  package static func reported<Result>(_ open: () async throws -> Result) async throws -> Result {
    do {
      return try await open()
    } catch let failure as any DeviceFailure {
      throw BywayError(.linkUnavailable, failure.diagnosis, cause: failure.cause)
    }
  }
}
