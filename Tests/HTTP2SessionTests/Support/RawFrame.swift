import NIOCore

/// A valid or invalid frame as bytes.
struct RawFrame: Equatable {
  var type: UInt8
  var flags: UInt8 = 0
  var id: UInt32 = 0
  var payload: [UInt8] = []
  /// The length in the header, if it differs from the real one.
  var length: Int?

  var bytes: [UInt8] {
    let length = length ?? payload.count
    return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
      + bigEndian(id) + payload
  }

  /// The error code of a RST_STREAM or a GOAWAY.
  var errorCode: UInt32? {
    switch type {
    case 3 where payload.count == 4: number(at: 0)
    case 7 where payload.count >= 8: number(at: 4)
    default: nil
    }
  }

  private func number(at offset: Int) -> UInt32 {
    payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Splits a stream of well-formed frames.
  static func parse(_ bytes: ByteBuffer) -> [RawFrame] {
    var bytes = bytes
    var frames: [RawFrame] = []
    while let head = bytes.readBytes(length: 9) {
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      let id = head[5..<9].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
      guard let payload = bytes.readBytes(length: length) else { break }
      frames.append(RawFrame(type: head[3], flags: head[4], id: id, payload: payload))
    }
    return frames
  }
}

extension RawFrame {
  static let endStream: UInt8 = 0x1
  static let ack: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8
  static let prioritized: UInt8 = 0x20

  static func data(_ id: UInt32, _ payload: [UInt8] = [], flags: UInt8 = 0) -> RawFrame {
    RawFrame(type: 0, flags: flags, id: id, payload: payload)
  }

  static func headers(_ id: UInt32, _ block: [UInt8], flags: UInt8 = endHeaders | endStream) -> RawFrame {
    RawFrame(type: 1, flags: flags, id: id, payload: block)
  }

  /// A complete GET.
  static func get(_ id: UInt32) -> RawFrame { headers(id, HPACK.get) }

  /// The head of a POST whose body follows later.
  static func post(_ id: UInt32, _ more: [(String, String)] = []) -> RawFrame {
    headers(id, HPACK.post + HPACK.block(more), flags: endHeaders)
  }

  static func priority(_ id: UInt32, on dependency: UInt32) -> RawFrame {
    RawFrame(type: 2, id: id, payload: bigEndian(dependency) + [15])
  }

  static func reset(_ id: UInt32, _ code: UInt32 = 8) -> RawFrame {
    RawFrame(type: 3, id: id, payload: bigEndian(code))
  }

  static func settings(_ entries: [(UInt16, UInt32)] = []) -> RawFrame {
    RawFrame(type: 4, payload: entries.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] + bigEndian($1) })
  }

  static let settingsAck = RawFrame(type: 4, flags: ack)

  static func pushPromise(_ id: UInt32, _ promised: UInt32) -> RawFrame {
    RawFrame(type: 5, flags: endHeaders, id: id, payload: bigEndian(promised) + HPACK.get)
  }

  static func ping(_ byte: UInt8 = 1, flags: UInt8 = 0) -> RawFrame {
    RawFrame(type: 6, flags: flags, payload: Array(repeating: byte, count: 8))
  }

  static func goAway(_ last: UInt32, _ code: UInt32 = 0) -> RawFrame {
    RawFrame(type: 7, payload: bigEndian(last) + bigEndian(code))
  }

  static func windowUpdate(_ id: UInt32, _ increment: UInt32) -> RawFrame {
    RawFrame(type: 8, id: id, payload: bigEndian(increment))
  }

  static func continuation(_ id: UInt32, _ block: [UInt8], flags: UInt8 = endHeaders) -> RawFrame {
    RawFrame(type: 9, flags: flags, id: id, payload: block)
  }
}

/// An encoder of header blocks for a part of RFC 7541: literals without indexing and Huffman coding.
enum HPACK {
  static let get: [UInt8] = request("GET")
  static let post: [UInt8] = request("POST")

  static func request(_ method: String) -> [UInt8] {
    block([(":method", method), (":scheme", "http"), (":path", "/"), (":authority", "device")])
  }

  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { [0x00] + string($0) + string($1) }
  }

  private static func string(_ text: String) -> [UInt8] {
    let count = text.utf8.count
    // RFC 7541 §5.1: an integer with a prefix of seven bits.
    if count < 127 { return [UInt8(count)] + Array(text.utf8) }
    var bytes: [UInt8] = [127]
    var left = count - 127
    while left >= 128 {
      bytes.append(UInt8(left & 0x7F) | 0x80)
      left >>= 7
    }
    return bytes + [UInt8(left)] + Array(text.utf8)
  }
}

private func bigEndian(_ value: UInt32) -> [UInt8] {
  [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
}
