/// The reason carried by RST_STREAM and GOAWAY (RFC 9113 §7).
package struct HTTP2ErrorCode: RawRepresentable, Sendable, Hashable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static let noError = HTTP2ErrorCode(rawValue: 0x0)
  package static let protocolError = HTTP2ErrorCode(rawValue: 0x1)
  package static let internalError = HTTP2ErrorCode(rawValue: 0x2)
  package static let flowControlError = HTTP2ErrorCode(rawValue: 0x3)
  package static let settingsTimeout = HTTP2ErrorCode(rawValue: 0x4)
  package static let streamClosed = HTTP2ErrorCode(rawValue: 0x5)
  package static let frameSizeError = HTTP2ErrorCode(rawValue: 0x6)
  package static let refusedStream = HTTP2ErrorCode(rawValue: 0x7)
  package static let cancel = HTTP2ErrorCode(rawValue: 0x8)
  package static let compressionError = HTTP2ErrorCode(rawValue: 0x9)
  package static let connectError = HTTP2ErrorCode(rawValue: 0xa)
  package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0xb)
  package static let inadequateSecurity = HTTP2ErrorCode(rawValue: 0xc)
  package static let http11Required = HTTP2ErrorCode(rawValue: 0xd)
}

extension HTTP2ErrorCode: CustomStringConvertible {
  /// The registered name, for searches in logs.
  package var description: String {
    switch self {
    case .noError: "NO_ERROR"
    case .protocolError: "PROTOCOL_ERROR"
    case .internalError: "INTERNAL_ERROR"
    case .flowControlError: "FLOW_CONTROL_ERROR"
    case .settingsTimeout: "SETTINGS_TIMEOUT"
    case .streamClosed: "STREAM_CLOSED"
    case .frameSizeError: "FRAME_SIZE_ERROR"
    case .refusedStream: "REFUSED_STREAM"
    case .cancel: "CANCEL"
    case .compressionError: "COMPRESSION_ERROR"
    case .connectError: "CONNECT_ERROR"
    case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
    case .inadequateSecurity: "INADEQUATE_SECURITY"
    case .http11Required: "HTTP_1_1_REQUIRED"
    default: "error code \(rawValue)"
    }
  }
}
