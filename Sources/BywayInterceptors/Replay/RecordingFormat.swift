package import Byway
import BywayPrimitives
package import HTTPTypes
package import NIOCore

/// The format of an exchange in a file:
///
///     byway-recording 2
///     > GET /log
///     > sha-256 e3b0c442…
///     < 120 200
///     < content-type: text/plain
///     <
///     + 340 5
///     12345
///     = x-sum: 7
///     .
///
/// The target is a path, or a URL if the request was for another server than the link's origin. Times are in milliseconds since the
/// previous line. A chunk has its length, then its bytes and a line's end. `.` is the end, after the trailers. `! linkLost message`
/// is a failure of the exchange; without a head before it, there was no response.
package enum RecordingFormat {
  static let magic = "byway-recording 2\n"
  /// The limits of a head, and of a line in the body, in bytes.
  static let headLimit = 256 * 1024
  static let lineLimit = 64 * 1024

  /// Returns the beginning. The digest is written last, when the request's body has passed; its place is reserved.
  package static func opening(_ method: String, _ target: String) -> (text: String, digestPosition: Int) {
    let start = "\(magic)> \(method) \(target)\n> sha-256 "
    return (start + String(repeating: "0", count: 64) + "\n", start.utf8.count)
  }

  package static func head(_ response: HTTPResponse, after time: Duration) -> String {
    let fields = response.headerFields.map { "< \($0.name.rawName): \($0.value)\n" }.joined()
    return "< \(time.wholeMilliseconds) \(response.status.code)\n\(fields)<\n"
  }

  package static func chunk(_ bytes: ByteBuffer, after time: Duration) -> ByteBuffer {
    var result = ByteBuffer(string: "+ \(time.wholeMilliseconds) \(bytes.readableBytes)\n")
    result.writeImmutableBuffer(bytes)
    result.writeString("\n")
    return result
  }

  package static func end(_ trailers: HTTPFields?) -> String {
    (trailers ?? [:]).map { "= \($0.name.rawName): \($0.value)\n" }.joined() + ".\n"
  }

  package static func failure(_ error: BywayError, after time: Duration) -> String {
    let message = error.message.visible
    return "! \(time.wholeMilliseconds) \(error.code) \(error.processing == .none ? "unprocessed" : "-") \(message)\n"
  }

  /// Returns the field in "NAME: VALUE".
  static func field(_ text: Substring) -> HTTPField? {
    let name = text.prefix { $0 != ":" }
    guard name.count < text.count else { return nil }
    return HTTPField.Name(String(name)).map {
      HTTPField(name: $0, value: text.dropFirst(name.count + 1).trimmed)
    }
  }

  /// Reads the text of ``failure(_:after:)``, without the exclamation mark.
  static func failure(_ text: Substring) -> (Duration, BywayError)? {
    let words = text.split(separator: " ", maxSplits: 3)
    guard words.count >= 3, let time = pause(words[0]) else { return nil }
    let code = codes.first { $0.description == words[1] } ?? .handlerFailed
    let message = words.count > 3 ? String(words[3]) : ""
    return (time, BywayError(code, message, processing: words[2] == "unprocessed" ? .none : .possible))
  }

  /// Reads a time before a line. Returns `nil` if it is invalid, or longer than a year: clocks have limits.
  static func pause(_ text: Substring) -> Duration? {
    Int(text).flatMap { (0...366 * 86_400_000).contains($0) ? .milliseconds($0) : nil }
  }

  private static let codes: [BywayError.Code] = [
    .invalidRequest, .linkUnavailable, .linkLost, .protocolViolation, .originUnavailable, .originUntrusted, .originLost,
    .incompleteResponse, .timedOut, .forbidden, .misdirected, .unsupported, .refused, .tooLarge, .cancelled,
    .loopDetected,
  ]
}

extension Duration {
  fileprivate var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
