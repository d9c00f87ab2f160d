import Byway
import Glibc

/// A folder that nobody else can look into.
struct PrivateFolder: Sendable {
  let path: String

  /// In `TMPDIR`, or /tmp.
  init() throws(CommandFailure) {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/byway-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure(
        .cannotCreate, "Cannot create a folder in \(parent): \(Descriptor.Failure(code: errno)). Set TMPDIR to another."
      )
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Once it is empty.
  func remove() {
    rmdir(path)
  }
}
