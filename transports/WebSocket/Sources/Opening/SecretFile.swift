import Byway
import BywayPrimitives

/// A file with one secret, such as a token or a password.
enum SecretFile {
  private static let limit = 16 << 10

  /// Reads the first line of a file that other users cannot read. Blocks briefly.
  /// - Parameter option: the option that names the file, for messages.
  static func read(_ path: String, option: String, code: BywayError.Code) throws(BywayError) -> String {
    func unusable(_ message: String) -> BywayError { BywayError(code, message, processing: .none) }
    let file: SmallFile
    do throws(SmallFile.Failure) {
      file = try SmallFile(path, limit: limit)
    } catch {
      throw unusable("Cannot read \(path) (\(option)=): \(error).")
    }
    if let exposure = FileExposure(file.status, for: .group) { throw unusable("\(path) (\(option)=): \(exposure).") }
    let line = file.bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard !line.isEmpty, line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw unusable("\(path) (\(option)=) must have one line of visible ASCII characters, without spaces.")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
