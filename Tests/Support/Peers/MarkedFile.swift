import Foundation

/// A large sparse file that still reveals a lost, doubled or swapped block: zeros, with each 64 KiB block beginning with its
/// number. origin.py's /bytes sends the same bytes.
package struct MarkedFile: Sendable {
  /// The size of a transfer.
  package enum Bulk: String, CaseIterable, Sendable {
    /// Large enough to reveal memory use that grows with a body.
    case gibibyte = "179193c8bc5c3de72f274d727f3c07288c359d71994e480e71e1f85b58fa691b"
    /// Large enough to reveal lost bytes, and fast.
    case eighth = "9db5451d19ef78f9f9c266a23df2b4a693513a3830e0167022964015f41da2d7"

    package var size: Int {
      switch self {
      case .gibibyte: 1 << 30
      case .eighth: 1 << 27
      }
    }
    /// The SHA-256 of a file of this size.
    package var digest: String { rawValue }
  }

  package let path: String
  package let size: Int

  private static let blockSize = 1 << 16

  package init(at path: String, _ bulk: Bulk) throws {
    try self.init(at: path, size: bulk.size)
  }

  /// Creates a sparse file; `size` is a multiple of 64 KiB.
  package init(at path: String, size: Int) throws {
    self.path = path
    self.size = size
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { throw PeerFailure("\(path) cannot be written") }
    defer { try? file.close() }
    try file.truncate(atOffset: UInt64(size))
    for block in 0..<size / Self.blockSize {
      try file.seek(toOffset: UInt64(block * Self.blockSize))
      try withUnsafeBytes(of: UInt64(block).bigEndian) { try file.write(contentsOf: Data($0)) }
    }
  }
}
