import Foundation

/// A large body that costs little and still shows a lost, doubled or swapped block: zeros, each 64 KiB headed by its
/// number. origin.py's /bytes sends the same.
package struct MarkedFile: Sendable {
  package let path: String
  package let size: Int

  package static let gibibyte = 1 << 30
  /// SHA-256 of a gibibyte of it.
  package static let gibibyteDigest = "179193c8bc5c3de72f274d727f3c07288c359d71994e480e71e1f85b58fa691b"

  private static let blockSize = 1 << 16

  /// A sparse file; `size` is a multiple of 64 KiB.
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
