import Byway
import BywayPrimitives
import Synchronization

/// The recordings of a folder, one in each file, or those of one file. They are found by the request that they answer, in the order
/// of their creation.
final class RecordingStore: Sendable {
  enum Recording: Sendable {
    case file(String, in: TrustedFolder)
    case part(of: OpenFile, at: Int)

    /// Opens the recording. Blocks.
    func open() throws -> Playback {
      switch self {
      case .part(let file, let position): return try Playback(file, at: position)
      case .file(let name, let folder):
        guard let file = try folder.file(name) else {
          throw BywayError(.unreadableFile, "\(folder.path)/\(name) is no longer there.", processing: .none)
        }
        return try Playback(file)
      }
    }
  }

  private struct Row {
    var recordings: [Recording] = []
    var next = 0
  }

  private let rows: Mutex<[RecordingSubject: Row]>

  /// Reads the folder or the file. Blocks.
  /// - Throws: `BywayError` if there is neither, others can write to the folder, or something in it is not a recording.
  init(_ path: String) throws {
    var rows: [RecordingSubject: Row] = [:]
    let isFile = (try? FileStatus(of: path))?.kind == .regular
    for recording in isFile ? try Self.parts(of: path) : try Self.files(in: path) {
      rows[try recording.open().subject, default: Row()].recordings.append(recording)
    }
    self.rows = Mutex(rows)
  }

  private static func files(in path: String) throws -> [Recording] {
    guard let folder = try TrustedFolder.existing(path) else {
      throw BywayError(.unreadableFile, "Cannot read \(path): there is no such file or folder.", processing: .none)
    }
    return try folder.names().sorted().filter { $0.hasSuffix(".exchange") }.map { .file($0, in: folder) }
  }

  private static func parts(of path: String) throws -> [Recording] {
    let file = try OpenFile(path)
    var parts: [Recording] = []
    var position = 0
    while position < file.size {
      parts.append(.part(of: file, at: position))
      position = try Playback(file, at: position).end()
    }
    return parts
  }

  func next(for subject: RecordingSubject) -> Recording? {
    rows.withLock { rows in
      guard var row = rows[subject] else { return nil }
      let recording = row.recordings[row.next]
      row.next = min(row.next + 1, row.recordings.count - 1)
      rows[subject] = row
      return recording
    }
  }
}
