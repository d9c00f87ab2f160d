public import NIOCore

/// A transformation that replaces a sequence of bytes wherever it occurs in a body, across chunks too.
///
/// It keeps fewer bytes than the length of the sequence that it searches for.
public struct Replacement: BodyTransformation {
  private let old: [UInt8]
  private let new: [UInt8]
  private var kept: [UInt8] = []

  /// Creates a replacement of one text by another, both in UTF-8.
  /// - Parameters:
  ///   - old: The text to search for; an empty one is found nowhere.
  ///   - new: Its replacement, which may be longer or shorter.
  public init(of old: String, with new: String) {
    self.old = Array(old.utf8)
    self.new = Array(new.utf8)
  }

  /// Processes the next chunk. Keeps back what may be the beginning of a match.
  public mutating func transform(_ chunk: ByteBuffer) -> ByteBuffer {
    guard let first = old.first else { return chunk }
    let bytes = kept + chunk.readableBytesView
    var result = ByteBufferAllocator().buffer(capacity: bytes.count)
    var copied = 0
    var index = 0
    while let candidate = bytes[index...].firstIndex(of: first) {
      let length = min(old.count, bytes.count - candidate)
      guard bytes[candidate..<candidate + length].elementsEqual(old[..<length]) else {
        index = candidate + 1
        continue
      }
      result.writeBytes(bytes[copied..<candidate])
      if length < old.count {
        // The next chunk decides.
        kept = Array(bytes[candidate...])
        return result
      }
      result.writeBytes(new)
      copied = candidate + length
      index = copied
    }
    result.writeBytes(bytes[copied...])
    kept = []
    return result
  }

  public mutating func finish() -> ByteBuffer {
    defer { kept = [] }
    return ByteBuffer(bytes: kept)
  }
}
