/// Finds the frame boundaries in the received bytes, so that each frame can be checked before nghttp2 acts on it and after it
/// acted on the previous one.
struct FrameSplitter {
  /// A piece of the input, at most one frame long.
  enum Step {
    /// A frame begins. `bytes` contains its header and the available part of its payload.
    case begin(FrameHeader, UnsafeRawBufferPointer)
    /// A frame begins whose header arrived in pieces.
    case assembled(FrameHeader, [UInt8])
    case more(UnsafeRawBufferPointer)
    /// The input is used up.
    case wait
  }

  /// The latest frame, and the number of its payload bytes still to come.
  private(set) var header: FrameHeader?
  private(set) var left: Int
  /// The first bytes of an incomplete frame header.
  private var held: [UInt8] = []

  /// The header, and the dependency of a PRIORITY frame: it must be checked, too (RFC 7540 §5.3.1).
  private static let longestHead = FrameHeader.size + 4

  /// - Parameter count: the number of bytes that precede the first frame.
  init(skipping count: Int) {
    left = count
  }

  var isAtBoundary: Bool { left == 0 && held.isEmpty }

  /// Removes the next piece from `input`.
  mutating func next(_ input: inout UnsafeRawBufferPointer) -> Step {
    guard !input.isEmpty else { return .wait }
    if left > 0 {
      let bytes = take(left, from: &input)
      left -= bytes.count
      return .more(bytes)
    }
    guard held.isEmpty, input.count >= Self.longestHead else { return assemble(&input) }
    let header = FrameHeader(input)
    let bytes = take(FrameHeader.size + header.length, from: &input)
    begin(header, with: bytes.count)
    return .begin(header, bytes)
  }

  private mutating func assemble(_ input: inout UnsafeRawBufferPointer) -> Step {
    fill(to: FrameHeader.size, from: &input)
    guard held.count >= FrameHeader.size else { return .wait }
    let header = held.withUnsafeBytes { FrameHeader($0) }
    let size = FrameHeader.size + (header.type == FrameHeader.priority ? min(4, header.length) : 0)
    fill(to: size, from: &input)
    guard held.count >= size else { return .wait }
    begin(header, with: size)
    defer { held = [] }
    return .assembled(header, held)
  }

  private mutating func fill(to size: Int, from input: inout UnsafeRawBufferPointer) {
    held.append(contentsOf: take(max(0, size - held.count), from: &input))
  }

  private mutating func begin(_ header: FrameHeader, with count: Int) {
    self.header = header
    left = FrameHeader.size + header.length - count
  }

  private func take(_ count: Int, from input: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let taken = min(count, input.count)
    guard let start = input.baseAddress else { return input }
    defer { input = UnsafeRawBufferPointer(start: start + taken, count: input.count - taken) }
    return UnsafeRawBufferPointer(start: start, count: taken)
  }
}
