import BywayPrimitives
package import BywayTerminal

/// Readers of small files that users write.
package enum TextFile {
  private static let limit = 1 << 20

  /// - Parameter ofUser: Whether to refuse a file that other users can write, because this program acts on it.
  /// - Throws: ``CommandFailure`` if it cannot be read, is too large, or is not UTF-8.
  package static func read(_ path: String, ofUser: Bool = false) throws(CommandFailure) -> String {
    let file: SmallFile
    do {
      file = try SmallFile(path, limit: limit)
    } catch .refused(.notRegular(.pipe)) {
      throw CommandFailure(
        .noInput,
        "Cannot read \(path): it is a pipe, and a later start or reload would wait for a program to write to it. Write its "
          + "content to a file.")
    } catch .tooLarge {
      throw CommandFailure(.noInput, "\(path) is larger than 1 MiB: that is not a configuration file.")
    } catch {
      throw CommandFailure(.noInput, "Cannot read \(path): \(error).")
    }
    guard !ofUser || file.isTrusted else {
      throw CommandFailure(.noInput, "Others can write to \(path): run chmod go-w on it, and check what is in it.")
    }
    guard let text = file.text else { throw CommandFailure(.noInput, "\(path) is not text in UTF-8.") }
    return text
  }
}
