import Byway
import Synchronization

/// The recordings of a folder, by what they are the answer to, in the order of their making.
final class RecordingShelf: Sendable {
  struct Recording: Sendable {
    fileprivate let name: String
    fileprivate let folder: TrustedFolder

    /// Blocks.
    func open() throws -> Playback {
      guard let file = try folder.file(name) else {
        throw BywayError(.unreadableFile, "\(folder.path)/\(name) is no longer there.", processing: .none)
      }
      return try Playback(file)
    }
  }

  private struct Row {
    var recordings: [Recording] = []
    var next = 0
  }

  private let rows: Mutex<[RecordingSubject: Row]>

  /// Blocks.
  /// - Throws: `BywayError` where there is no such folder, others can write to it, or a file of it is not a recording.
  init(_ path: String) throws {
    guard let folder = try TrustedFolder.existing(path) else {
      throw BywayError(.unreadableFile, "Cannot read \(path): there is no such folder.", processing: .none)
    }
    var rows: [RecordingSubject: Row] = [:]
    for name in try folder.names().sorted() where name.hasSuffix(".exchange") {
      let recording = Recording(name: name, folder: folder)
      rows[try recording.open().subject, default: Row()].recordings.append(recording)
    }
    self.rows = Mutex(rows)
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
