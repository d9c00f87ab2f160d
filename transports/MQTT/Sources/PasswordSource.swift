import Byway
import BywayPrimitives

/// The place of a password: a file that other users cannot read, or an environment variable.
enum PasswordSource: Sendable, Hashable {
  case variable(String)
  case file(String)

  /// - Parameter text: a path, or `env:NAME`. An address never contains the password itself, because addresses are logged.
  init(_ text: String) {
    self = text.hasPrefix("env:") ? .variable(String(text.dropFirst(4))) : .file(text)
  }

  /// Reads the password. Blocks briefly.
  func read(code: BywayError.Code) throws(BywayError) -> String {
    func unusable(_ message: String) -> BywayError { BywayError(code, message, processing: .none) }
    switch self {
    case .variable(let name):
      guard let value = Environment[name], !value.isEmpty else {
        throw unusable("The environment variable \(name) (password=) is not set.")
      }
      return value
    case .file(let path):
      let file: SmallFile
      do throws(SmallFile.Failure) {
        file = try SmallFile(path, limit: 16 << 10)
      } catch {
        throw unusable("Cannot read \(path) (password=): \(error).")
      }
      if let exposure = FileExposure(file.status, for: .group) {
        throw unusable("\(path) (password=): \(exposure).")
      }
      let line = file.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
      guard !line.isEmpty, !line.contains(0), let text = String(validating: line, as: UTF8.self) else {
        throw unusable("\(path) (password=) must have the password in its first line.")
      }
      return text
    }
  }
}
