import Glibc

/// The error underneath, for people: what the system says, without the names of functions that NIO puts before it.
enum CauseText {
  static func of(_ error: any Error) -> String {
    switch ConnectFailure(error) {
    case .system(let code): String(cString: strerror(code))
    case .timeout: "timed out"
    case .unknownHost: "unknown host"
    case .other(let error): "\(error)"
    }
  }
}
