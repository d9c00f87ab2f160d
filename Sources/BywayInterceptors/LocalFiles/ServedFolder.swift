import Byway
import BywayLibC
import BywayPrimitives

/// A folder and everything below it. No symbolic link is followed, and no hidden file found.
struct ServedFolder: Sendable {
  enum Entry {
    case file(OpenFile)
    /// A folder of that name.
    case folder
    case nothing
  }

  let path: String

  /// Opens the file that a URL's path names. Blocks: not for event loops.
  /// - Parameter segments: The decoded path, relative to the folder.
  func open(_ segments: [String]) throws -> Entry {
    guard segments.allSatisfy(Self.isVisible), let name = segments.last else { return .nothing }
    var folder = BywayLibC.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else {
      throw BywayError(.unreadableFile, "Cannot serve \(path): \(SystemError.last).", processing: .none)
    }
    defer { close(folder) }
    // One step at a time: a symbolic link that is swapped in meanwhile is not followed.
    for segment in segments.dropLast() {
      let next = openat(folder, segment, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard next >= 0 else { return .nothing }
      close(folder)
      folder = next
    }
    let descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return .nothing }
    let kind = try? FileStatus(of: descriptor).kind
    guard kind == .regular else {
      close(descriptor)
      return kind == .folder ? .folder : .nothing
    }
    return .file(try OpenFile(owning: descriptor, path: "\(path)/\(segments.joined(separator: "/"))"))
  }

  /// Whether a name is visible. RFC 8615 gives one hidden name a meaning.
  private static func isVisible(_ segment: String) -> Bool {
    !segment.isEmpty && (!segment.hasPrefix(".") || segment == ".well-known")
      && !segment.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }
}
