package import NIOCore
import NIOWebSocket

/// Writes frames (RFC 6455 §5.2), each into one buffer with its header.
package struct FrameWriter {
  /// The kinds of frames that this end sends, by their opcodes.
  package enum Kind: UInt8, Sendable {
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA
  }

  private let masks: Bool

  /// - Parameter masks: whether this end is the client.
  package init(masks: Bool) {
    self.masks = masks
  }

  /// - Parameters:
  ///   - content: at most ``FrameLimits/received`` bytes; 125 in a control frame.
  ///   - mask: a random number that no peer can predict (§10.3).
  package func frame(_ kind: Kind, _ content: ByteBuffer, mask: @autoclosure () -> UInt32) -> ByteBuffer {
    let count = content.readableBytes
    var frame = ByteBuffer()
    frame.reserveCapacity(14 + count)
    frame.writeInteger(0x80 | kind.rawValue)
    let maskBit: UInt8 = masks ? 0x80 : 0
    switch count {
    case ...125:
      frame.writeInteger(maskBit | UInt8(truncatingIfNeeded: count))
    case ...0xFFFF:
      frame.writeInteger(maskBit | 126)
      frame.writeInteger(UInt16(truncatingIfNeeded: count))
    default:
      frame.writeInteger(maskBit | 127)
      frame.writeInteger(UInt64(count))
    }
    guard masks else {
      frame.writeImmutableBuffer(content)
      return frame
    }
    let key = MaskingKey(mask())
    frame.writeInteger(key.bigEndian)
    let start = frame.readerIndex
    frame.moveReaderIndex(to: frame.writerIndex)
    frame.writeImmutableBuffer(content)
    frame.mask(with: key)
    frame.moveReaderIndex(to: start)
    return frame
  }
}

/// A key that masks the content of a client's frames (RFC 6455 §5.3).
struct MaskingKey {
  let bigEndian: UInt32

  init(_ bigEndian: UInt32) {
    self.bigEndian = bigEndian
  }

  init(_ key: WebSocketMaskingKey) {
    bigEndian = key.reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension ByteBuffer {
  /// Masks or unmasks the readable bytes, eight at a time.
  mutating func mask(with key: MaskingKey) {
    let word = UInt64(key.bigEndian.bigEndian)
    let mask = word << 32 | word
    withUnsafeMutableReadableBytes { bytes in
      let whole = bytes.count & ~7
      for offset in stride(from: 0, to: whole, by: 8) {
        let value = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        bytes.storeBytes(of: value ^ mask, toByteOffset: offset, as: UInt64.self)
      }
      for offset in whole..<bytes.count {
        bytes[offset] ^= UInt8(truncatingIfNeeded: mask >> UInt64(8 * (offset & 7)))
      }
    }
  }
}
