import Primitives

/// Failures as gRPC names them.
enum GRPCStatus {
  /// `UNAVAILABLE` is what clients may try again by themselves, and where the request's fate is unknown that is for them to judge.
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

  /// The message as `grpc-message` has it: UTF-8, percent-encoded outside printable ASCII.
  static func message(_ text: String) -> String {
    PercentEncoding.encode(text) { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "%") }
  }
}
