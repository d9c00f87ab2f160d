import BywayLibC
import BywayPrimitives
import NIOCore

/// The text of an underlying error for users: the system's message, without the function and type names that libraries add.
enum CauseText {
  static func of(_ error: any Error) -> String {
    switch ConnectFailure(error) {
    case .system(let code): "\(SystemError(code: code))"
    case .timeout: "timed out"
    case .unknownHost: "unknown host"
    case .other(let error as PortTaken): "process \(error.processID) has it"
    case .other(is ChannelError): "the connection was closed"
    case .other(let error): tlsReason(in: "\(error)") ?? withoutTypes(error)
    }
  }

  /// Returns the words of an error of NIO without names of types and cases. Such errors are `NIOSSLExtraError.failedToValidateHostname:
  /// Couldn't find …`, `uncleanShutdown` or `NIOTooManyBytesError(maxBytes: 7)`.
  private static func withoutTypes(_ error: any Error) -> String {
    let text = "\(error)"
    guard String(reflecting: type(of: error)).hasPrefix("NIO") else { return text }
    let name = text.prefix { $0.isLetter || $0.isNumber || $0 == "." }
    let rest = text[name.endIndex...]
    if rest.hasPrefix(": ") { return String(rest.dropFirst(2)) }
    var last = name.split(separator: ".").last ?? name
    if last.hasPrefix("NIO") { last = last.dropFirst(3) }
    if last.hasSuffix("Error") { last = last.dropLast(5) }
    let words = last.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined()
    return words.hasPrefix(" ") ? String(words.dropFirst()) : words
  }

  /// BoringSSL puts its reasons between a file name and a line number: `error:1000007d:SSL
  /// routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at …:1`.
  private static func tlsReason(in text: String) -> String? {
    guard let library = text.firstRange(of: "OPENSSL_internal:") else { return nil }
    let reason = text[library.upperBound...].prefix { $0.isASCII && ($0.isUppercase || $0.isNumber || $0 == "_") }
    return reason.isEmpty ? nil : String(reason.lowercased().map { $0 == "_" ? " " : $0 })
  }
}
