import Byway
import Glibc
import NIOCore
import NIOPosix

/// Responses as files: `NUMBER.body`, then `NUMBER.head`, which says how long the body must be.
///
/// A head appears under its name when it is whole and its body is on the disk, so that a crash at any moment leaves
/// whole responses and remains, and the next start removes the remains. One process at a time.
final class DiskStorage: CacheStorage {
  private let folder: String
  private let lock: CInt

  /// - Throws: ``BywayError`` where the folder cannot be made or used, or another process uses it.
  init(_ folder: String) throws {
    self.folder = folder
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Self.failure(folder) }
    lock = open("\(folder)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw Self.failure("\(folder)/lock") }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw BywayError(
        .invalidRequest, "The cache \(folder) is in use by another process: give each a folder of its own.",
        processing: .none)
    }
  }

  deinit {
    close(lock)
  }

  /// Everything that an earlier process left whole; the rest is deleted. Blocks.
  func load() throws -> [StoredResponse] {
    let names = try Folder.names(folder)
    var responses: [StoredResponse] = []
    for name in names where name.hasSuffix(".head") {
      guard let id = UInt64(name.dropLast(5), radix: 16), let response = try? head(of: id),
        let body = try? OpenFile(path(id, "body")), body.size == response.length
      else { continue }
      responses.append(response)
    }
    let kept = Set(responses.flatMap { ["\(hex($0.id)).head", "\(hex($0.id)).body"] })
    for name in names where !kept.contains(name) && Self.isOurs(name) { unlink("\(folder)/\(name)") }
    // In the order of their coming, which is the order of their numbers.
    return responses.sorted { $0.id < $1.id }
  }

  func writer(for id: UInt64) async throws -> any CacheWriter {
    let path = path(id, "body")
    return try await NIOThreadPool.singleton.runIfActive { try NewFile(path) }
  }

  func body(of id: UInt64) async throws -> Body {
    let path = path(id, "body")
    return try await NIOThreadPool.singleton.runIfActive { try Body(file: path) }
  }

  func save(_ response: StoredResponse) async throws {
    let (path, temporary, body) = (path(response.id, "head"), path(response.id, "new"), path(response.id, "body"))
    let bytes = response.encoded
    try await NIOThreadPool.singleton.runIfActive {
      try NewFile.synchronize(body)
      let file = try NewFile(temporary)
      try file.append(bytes)
      try file.synchronize()
      try file.rename(to: path)
    }
  }

  func delete(_ ids: [UInt64]) async {
    guard !ids.isEmpty else { return }
    // The head first: without one a body does not count.
    let paths = ids.flatMap { [path($0, "head"), path($0, "body")] }
    try? await NIOThreadPool.singleton.runIfActive {
      for path in paths { unlink(path) }
    }
  }

  private func head(of id: UInt64) throws -> StoredResponse? {
    let file = try OpenFile(path(id, "head"))
    guard file.size > 0, file.size < 1 << 20 else { return nil }
    let bytes = try file.read(at: 0, upTo: file.size)
    return StoredResponse(encoded: bytes).flatMap { $0.id == id ? $0 : nil }
  }

  private func path(_ id: UInt64, _ kind: String) -> String { "\(folder)/\(hex(id)).\(kind)" }

  /// Whatever else lies in the folder is somebody else's.
  private static func isOurs(_ name: String) -> Bool {
    let parts = name.split(separator: ".")
    return parts.count == 2 && parts[0].utf8.count == 16 && UInt64(parts[0], radix: 16) != nil
      && ["head", "body", "new"].contains(parts[1])
  }

  private static func failure(_ path: String) -> BywayError {
    BywayError(
      .invalidRequest, "Cannot use \(path) for the cache: \(String(cString: strerror(errno))).", processing: .none)
  }
}

private func hex(_ id: UInt64) -> String {
  let text = String(id, radix: 16)
  return String(repeating: "0", count: 16 - text.count) + text
}
