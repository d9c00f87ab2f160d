import BywayPrimitives

/// The gRPC status codes of failures.
enum GRPCStatus {
  /// `UNAVAILABLE` means that clients may try again. If it is unknown whether the request was processed, they must decide.
  static func code(of code: BywayError.Code) -> Int {
    switch code {
    case .cancelled: 1
    case .timedOut: 4
    case .forbidden, .misdirected: 7
    case .tooLarge: 8
    case .linkUnavailable, .linkLost, .originUnavailable, .originUntrusted, .originLost, .incompleteResponse, .refused:
      14
    default: 13
    }
  }

  /// Returns the message as encoded in `grpc-message`: UTF-8, percent-encoded outside printable ASCII.
  static func message(_ text: String) -> String {
    PercentEncoding.encode(text) { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "%") }
  }
}
