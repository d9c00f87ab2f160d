import Byway
import BywayLibC
import BywayPrimitives
import NIOCore
import NIOPosix

/// A storage of responses as files: `NUMBER.body`, then `NUMBER.head`, which contains the length of the body.
///
/// A head gets its name when it is complete and its body is on the disk. Thus a crash at any moment leaves complete responses and
/// remains, and the next start removes the remains. One process at a time can use a folder.
final class DiskStorage: CacheStorage {
  private let folder: TrustedFolder
  private let lock: LockedFile

  /// - Throws: `BywayError` if the folder cannot be created or used, others can write to it, or another process uses it.
  init(_ path: String) throws {
    let folder = try TrustedFolder(path, making: .folder)
    let descriptor: CInt
    do {
      descriptor = try folder.open("lock", O_RDWR | O_CREAT)
    } catch {
      throw BywayError(.uncreatableFile, "Cannot use \(path)/lock for the cache: \(error).", processing: .none)
    }
    guard let lock = LockedFile(owning: descriptor) else {
      throw BywayError(
        .uncreatableFile, "The cache \(path) is in use by another process: give each a folder of its own.",
        processing: .none)
    }
    self.folder = folder
    self.lock = lock
  }

  /// Returns the responses that an earlier process left complete in a cache of this kind, and deletes the rest. Blocks.
  func load(_ kind: CacheKind) throws -> [StoredResponse] {
    let names = try folder.names()
    var responses: [StoredResponse] = []
    for name in names where name.hasSuffix(".head") {
      guard let id = UInt64(name.dropLast(5), radix: 16), let response = try? head(of: id, in: kind),
        let body = try? folder.file(file(id, "body")), body.size == response.length
      else { continue }
      responses.append(response)
    }
    let kept = Set(responses.flatMap { [file($0.id, "head"), file($0.id, "body")] })
    for name in names where !kept.contains(name) && Self.isOurs(name) { try? folder.remove(name) }
    // In the order of their arrival, which is the order of their numbers.
    return responses.sorted { $0.id < $1.id }
  }

  func writer(for id: UInt64) async throws -> any CacheWriter {
    let folder = folder
    return try await NIOThreadPool.singleton.runIfActive { try NewFile(file(id, "body"), in: folder) }
  }

  func body(of id: UInt64) async throws -> Body {
    let folder = folder
    return try await NIOThreadPool.singleton.runIfActive {
      guard let file = try folder.file(file(id, "body")) else {
        throw BywayError(.handlerFailed, "A stored response is no longer there.", processing: .none)
      }
      return Body(file)
    }
  }

  func save(_ response: StoredResponse, in kind: CacheKind) async throws {
    let (id, folder) = (response.id, folder)
    let bytes = response.encoded(in: kind)
    try await Self.toTheEnd {
      try NewFile.synchronize(file(id, "body"), in: folder)
      let head = try NewFile(file(id, "new"), in: folder)
      try head.append(bytes)
      try head.synchronize()
      try head.rename(to: file(id, "head"))
    }
  }

  func delete(_ ids: [UInt64]) async {
    guard !ids.isEmpty else { return }
    let folder = folder
    // The head first: a body without a head does not count.
    let names = ids.flatMap { [file($0, "head"), file($0, "body")] }
    try? await Self.toTheEnd {
      for name in names { try? folder.remove(name) }
    }
  }

  /// Runs in a separate task: the exchange's may be cancelled as soon as its client has the last byte.
  private static func toTheEnd(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await Task { try await NIOThreadPool.singleton.runIfActive(work) }.value
  }

  private func head(of id: UInt64, in kind: CacheKind) throws -> StoredResponse? {
    guard let file = try folder.file(file(id, "head")), file.size > 0, file.size < 1 << 20 else { return nil }
    return StoredResponse(encoded: try file.readAll(), in: kind).flatMap { $0.id == id ? $0 : nil }
  }

  /// Whether a file belongs to the cache. Other files in the folder are left alone.
  private static func isOurs(_ name: String) -> Bool {
    let parts = name.split(separator: ".")
    return parts.count == 2 && parts[0].utf8.count == 16 && UInt64(parts[0], radix: 16) != nil
      && ["head", "body", "new"].contains(parts[1])
  }
}

extension NewFile: CacheWriter {}

/// The name of a response's file of one kind.
private func file(_ id: UInt64, _ kind: String) -> String { "\(Hex.text(id)).\(kind)" }
