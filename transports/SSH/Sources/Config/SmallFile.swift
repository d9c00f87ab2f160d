internal import Byway
internal import Glibc

/// Files of keys and settings, read and written whole. Blocks: not for event loops.
enum SmallFile {
  enum Failure: Error, Hashable {
    case missing
    case system(CInt)
    case tooLarge(limit: Int)
    case noRegularFile
  }

  struct Content {
    var bytes: [UInt8]
    var owner: uid_t
    var mode: mode_t
  }

  static func read(_ path: String, limit: Int) throws(Failure) -> Content {
    // A FIFO would wait for somebody to write to it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw failure(errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(errno) }
    // /dev/null is a way to say "none".
    let kind = status.st_mode & S_IFMT
    guard kind == S_IFREG || kind == S_IFCHR else { throw kind == S_IFDIR ? .system(EISDIR) : .noRegularFile }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(Int(status.st_size) + 1, limit + 1))
    while bytes.count <= limit {
      let chunk = try readChunk(descriptor)
      if chunk.isEmpty { return Content(bytes: bytes, owner: status.st_uid, mode: status.st_mode) }
      bytes += chunk
    }
    throw .tooLarge(limit: limit)
  }

  /// Adds one line in one write, so that lines of others stay whole; makes the file, and its folder, where missing.
  static func append(line: String, to path: String) throws(Failure) {
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      // Only the last folder, as ~/.ssh; whatever is wrong with it shows when the file is opened.
      mkdir(String(path[..<slash]), 0o700)
    }
    let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw failure(errno) }
    defer { close(descriptor) }
    let size = lseek(descriptor, 0, SEEK_END)
    var last: UInt8 = 0x0A
    if size > 0, pread(descriptor, &last, 1, size - 1) < 0 { throw failure(errno) }
    let text = Array("\(last == 0x0A ? "" : "\n")\(line)\n".utf8)
    let count = write(descriptor, text, text.count)
    guard count == text.count else { throw failure(count < 0 ? errno : ENOSPC) }
  }

  private static func readChunk(_ descriptor: CInt) throws(Failure) -> [UInt8] {
    var code: CInt = 0
    let chunk = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
      var result: Int
      repeat { result = Glibc.read(descriptor, buffer.baseAddress, buffer.count) } while result < 0 && errno == EINTR
      if result < 0 { code = errno }
      count = max(0, result)
    }
    if code != 0 { throw failure(code) }
    return chunk
  }

  private static func failure(_ code: CInt) -> Failure {
    code == ENOENT || code == ENOTDIR ? .missing : .system(code)
  }
}

extension SmallFile.Failure: CustomStringConvertible {
  /// Follows a path and a colon.
  var description: String {
    switch self {
    case .missing: "no such file"
    case .system(let code): String(cString: strerror(code))
    case .tooLarge(let limit): "larger than \(limit >> 10) KiB"
    case .noRegularFile: "not a regular file"
    }
  }
}
