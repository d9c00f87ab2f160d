import BywayHTTPWire

/// The nine-byte header of every frame (RFC 9113 §4.1).
struct FrameHeader {
  static let size = 9

  let length: Int
  let type: UInt8
  let flags: UInt8
  let streamID: StreamID

  /// Parses a header. `bytes` must contain at least ``size`` bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    type = bytes[3]
    flags = bytes[4]
    let id = UInt32(bytes[5]) << 24 | UInt32(bytes[6]) << 16 | UInt32(bytes[7]) << 8 | UInt32(bytes[8])
    streamID = StreamID(id & 0x7FFF_FFFF)
  }

  var endsStream: Bool { flags & 0x1 != 0 }
  var endsHeaders: Bool { flags & 0x4 != 0 }
}

extension FrameHeader {
  static let data: UInt8 = 0x0
  static let headers: UInt8 = 0x1
  static let priority: UInt8 = 0x2
  static let resetStream: UInt8 = 0x3
  static let settings: UInt8 = 0x4
  static let pushPromise: UInt8 = 0x5
  static let ping: UInt8 = 0x6
  static let goAway: UInt8 = 0x7
  static let windowUpdate: UInt8 = 0x8
  static let continuation: UInt8 = 0x9
  static let priorityUpdate: UInt8 = 0x10
}
