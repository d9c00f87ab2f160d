import Byway
import Synchronization

/// The recordings of a folder, by what they are the answer to, in the order of their making.
final class RecordingShelf: Sendable {
  struct Recording: Sendable {
    let path: String
  }

  private struct Row {
    var recordings: [Recording] = []
    var next = 0
  }

  private let rows: Mutex<[RecordingSubject: Row]>

  /// Blocks.
  init(_ folder: String) throws {
    var rows: [RecordingSubject: Row] = [:]
    for name in try Folder.names(folder).sorted() where name.hasSuffix(".exchange") {
      let path = "\(folder)/\(name)"
      rows[try Playback(path).subject, default: Row()].recordings.append(Recording(path: path))
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
