import BywayLibC
import BywayPrimitives

extension SmallFile {
  /// Appends one line in a single write, so that lines from other processes stay whole. Creates the file and its folder if they
  /// are missing. Blocks.
  static func append(line: String, to path: String) throws(Failure) {
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      // Only the last folder, such as ~/.ssh. Any error with it shows when the file is opened.
      mkdir(String(path[..<slash]), 0o700)
    }
    do throws(FileRefusal) {
      let descriptor = try SharedPlace.open(path, O_RDWR | O_APPEND, mode: 0o600)
      defer { close(descriptor) }
      let size = lseek(descriptor, 0, SEEK_END)
      var last: UInt8 = 0x0A
      if size > 0, pread(descriptor, &last, 1, size - 1) < 0 { throw .system(.last) }
      let text = Array("\(last == 0x0A ? "" : "\n")\(line)\n".utf8)
      let count = write(descriptor, text, text.count)
      guard count == text.count else { throw .system(count < 0 ? .last : SystemError(code: ENOSPC)) }
    } catch {
      throw SmallFile.Failure(error)
    }
  }
}
