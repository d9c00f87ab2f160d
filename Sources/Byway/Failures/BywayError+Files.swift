package import BywayPrimitives

extension BywayError {
  /// - Parameter reason: follows a colon.
  package static func cannotRead(_ path: String, _ reason: String) -> BywayError {
    BywayError(.unreadableFile, "Cannot read \(path): \(reason).", processing: .none)
  }

  package static func cannotRead(_ path: String, _ error: SystemError) -> BywayError { cannotRead(path, "\(error)") }

  /// - Parameter reason: follows a colon.
  package static func cannotCreate(_ path: String, _ reason: String) -> BywayError {
    BywayError(.uncreatableFile, "Cannot create \(path): \(reason).", processing: .none)
  }

  package static func cannotCreate(_ path: String, _ error: SystemError) -> BywayError {
    cannotCreate(path, "\(error)")
  }

  package static func cannotWrite(_ path: String, _ error: SystemError) -> BywayError {
    BywayError(.unwritableFile, "Cannot write \(path): \(error).", processing: .none)
  }
}
