import BywayLibC
import BywayPrimitives
import HTTPTypes
import NIOCore
import NIOPosix

/// A file that is being downloaded: `PATH.part`, and next to it `PATH.part.tag` with the validator of its content, so that a later process
/// can continue.
///
/// Another user may have created both names, for example in /tmp. So both must be regular files of this user without other names, and
/// symbolic links are not followed.
///
/// `@unchecked Sendable`: one download uses it, and waits for each call to return.
package final class PartialDownload: @unchecked Sendable {
  private let path: String
  /// The URL. A validator is meaningful for one resource only.
  private let source: String
  private let file: LockedFile
  /// The size in bytes.
  private(set) var size: Int
  private(set) var validator: String?
  /// The size of the whole content; `nil` if unknown.
  private(set) var total: Int?

  private var partPath: String { path + ".part" }
  private var tagPath: String { path + ".part.tag" }

  /// Blocks.
  /// - Parameter source: the URL.
  /// - Throws: ``BywayError`` if the file cannot be created.
  init(of path: String, from source: String) throws {
    self.path = path
    self.source = source
    let descriptor: CInt
    do throws(FileRefusal) {
      descriptor = try RegularFile.openOwn(path + ".part", O_RDWR, mode: 0o644)
    } catch {
      throw Self.refused(path + ".part", error)
    }
    // Two downloads into one file would mix their bytes.
    guard let file = LockedFile(owning: descriptor), Self.isStill(at: path + ".part", descriptor) else {
      throw BywayError(
        .uncreatableFile, "Another download is writing \(path).part: wait until it has finished.", processing: .none)
    }
    self.file = file
    size = Int(max(lseek(descriptor, 0, SEEK_END), 0))
    let tag = Self.line(in: path + ".part.tag")?.split(separator: "\t")
    guard let tag, tag.count >= 2, tag[1] == source[...] else { return }
    validator = String(tag[0])
    total = tag.count > 2 ? Int(tag[2]) : nil
  }

  private static func refused(_ path: String, _ refusal: FileRefusal) -> BywayError {
    let advice = if case .system = refusal { "" } else { ": remove it, or choose another name" }
    return .cannotCreate(path, "\(refusal)\(advice)")
  }

  /// Creates `PATH.part` for a download from the beginning. An older one of this user is removed first. Blocks.
  /// - Returns: a descriptor, which the caller owns.
  package static func makePart(of path: String) throws(BywayError) -> CInt {
    removeTag(nextTo: path)
    do throws(FileRefusal) {
      return try RegularFile.openOwn(path + ".part", O_WRONLY, isNew: true)
    } catch {
      throw refused(path + ".part", error)
    }
  }

  /// Renames `PATH.part` to its final name. Blocks.
  /// - Parameter descriptor: the descriptor of `PATH.part`, to detect a file that another process has put in its place.
  package static func rename(partOf path: String, _ descriptor: CInt) throws(BywayError) {
    guard isStill(at: path + ".part", descriptor) else {
      throw .cannotCreate(path, "another program has replaced \(path).part")
    }
    guard BywayLibC.rename(path + ".part", path) == 0 else { throw .cannotWrite(path, .last) }
    removeTag(nextTo: path)
  }

  /// Writes the tag next to a `PATH.part` that was written elsewhere, so that a later download can continue it. Blocks.
  /// - Parameter response: a response whose body may end too early.
  package static func leaveTag(of response: Response, to request: Request, nextTo path: String) {
    guard request.head.method == .get, response.status == .ok, let validator = validator(of: response) else { return }
    try? write(tag(validator, source(of: request.head), response.body.length), to: path + ".part.tag")
  }

  private static func tag(_ validator: String, _ source: String, _ total: Int?) -> String {
    "\(validator)\t\(source)" + (total.map { "\t\($0)" } ?? "")
  }

  package static func removeTag(nextTo path: String) {
    unlink(path + ".part.tag")
  }

  /// Returns the value for `If-Range`, which cannot be a weak entity tag (§13.1.5).
  static func validator(of response: Response) -> String? {
    if let tag = response.fields[.eTag] { return tag.hasPrefix("W/") ? nil : tag }
    return response.fields[.lastModified]
  }

  static func source(of head: HTTPRequest) -> String {
    "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")"
  }

  /// - Parameter total: the size of the whole content; `nil` if unknown.
  func restart(validator: String?, total: Int?) async throws {
    self.validator = validator
    self.total = total
    size = 0
    try await onThread {
      // In this order, so that a tag never exists next to content that it does not belong to.
      unlink(self.tagPath)
      guard ftruncate(self.file.descriptor, 0) == 0 else { throw BywayError.cannotWrite(self.partPath, .last) }
      if let validator { try Self.write(Self.tag(validator, self.source, total), to: self.tagPath) }
    }
  }

  /// Whether a range may be a part of the existing content. A range without a total could belong to any content.
  func isOfSameLength(_ range: ContentRange) -> Bool {
    guard let whole = range.total ?? total, whole == total ?? whole, range.end <= whole else { return false }
    total = whole
    return true
  }

  func append(_ chunk: ByteBuffer) async throws {
    let start = size
    try await onThread { try self.write(chunk, at: start) }
    size += chunk.readableBytes
  }

  private func write(_ chunk: ByteBuffer, at position: Int) throws {
    do {
      try Descriptor.write(chunk, to: file.descriptor, at: position)
    } catch {
      throw BywayError.cannotWrite(partPath, error)
    }
  }

  /// Moves the file to its final place.
  func complete() async throws -> Int {
    try await onThread {
      guard fsync(self.file.descriptor) == 0 else { throw BywayError.cannotWrite(self.path, .last) }
      try Self.rename(partOf: self.path, self.file.descriptor)
    }
    return size
  }

  private func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await NIOThreadPool.singleton.runIfActive(body)
  }

  /// Whether the name leads to the open file: the download that held the lock before may have renamed it.
  private static func isStill(at path: String, _ descriptor: CInt) -> Bool {
    guard let named = try? FileStatus(of: path, followsLinks: false), let opened = try? FileStatus(of: descriptor)
    else {
      return false
    }
    return named.identity == opened.identity
  }

  /// The first line of a short file.
  private static func line(in path: String) -> String? {
    guard let file = try? SmallFile(path, limit: 8192), file.status.owner == geteuid() else { return nil }
    return file.text?.split(separator: "\n").first.map(String.init)
  }

  private static func write(_ line: String, to path: String) throws {
    do throws(FileRefusal) {
      let descriptor = try RegularFile.openOwn(path, O_WRONLY, isNew: true)
      defer { close(descriptor) }
      try FileRefusal.wrapping { () throws(SystemError) in try Descriptor.write(line + "\n", to: descriptor) }
    } catch {
      throw refused(path, error)
    }
  }
}
