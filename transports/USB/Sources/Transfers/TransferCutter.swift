/// Cuts a stream into transfers that all end with a short packet.
///
/// A receiver waits until its buffer is full or a packet is shorter than the endpoint's size. So a transfer whose length is a multiple of that
/// size would need an empty packet behind it. Every packet size of bulk endpoints is a multiple of 64, so the last byte of such a transfer
/// moves to the next one instead.
struct TransferCutter {
  private static let unit = 64

  /// The byte that the next transfer begins with.
  private(set) var carried: UInt8?

  /// Cuts the bytes of a buffer, which begin with the carried one.
  /// - Returns: the number of bytes of the transfer.
  mutating func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let last = bytes.last, bytes.count % Self.unit == 0 else {
      carried = nil
      return bytes.count
    }
    carried = last
    return bytes.count - 1
  }
}
