/// The reason why a message cannot be read or written. The connection must be closed, as it cannot be used further.
package struct HTTP1Failure: Error, Sendable, Hashable {
  package enum Code: Sendable, Hashable {
    /// The first bytes belong to another protocol; the message quotes them.
    case notHTTP
    /// The peer violated the grammar or the framing rules.
    case malformed
    /// The message uses a version or transfer coding that is not supported here.
    case unsupported
    /// A limit of ``HTTP1Configuration`` was exceeded.
    case tooLarge
    /// Bytes arrived on a connection that expected none.
    case unsolicited
    /// The peer closed the connection before the end of the message.
    case incomplete(Progress)
    /// The caller's message cannot be written.
    case unencodable
    case invalidConfiguration
  }

  /// The progress of a message.
  package enum Progress: Sendable, Hashable {
    case beforeHead
    case inHead
    /// The number of bytes of content; `expected` is `nil` if the framing declares no length.
    case inBody(received: Int, expected: Int?)
  }

  package var code: Code
  /// A sentence for users.
  package var message: String
  /// The status of a server's answer.
  package var status: Int
  /// The first bytes of another protocol than HTTP.
  package var heard: [UInt8] = []

  package init(_ code: Code, _ message: String, status: Int = 400) {
    self.code = code
    self.message = message
    self.status = status
  }
}

extension HTTP1Failure: CustomStringConvertible {
  package var description: String { message }
}

extension HTTP1Failure {
  static func malformed(_ message: String) -> Self { .init(.malformed, message) }
  static func unsupported(_ message: String, status: Int) -> Self { .init(.unsupported, message, status: status) }
  static func tooLarge(_ message: String, status: Int = 431) -> Self { .init(.tooLarge, message, status: status) }
  static func unencodable(_ message: String) -> Self { .init(.unencodable, message, status: 500) }

  static func incomplete(_ progress: Progress) -> Self {
    switch progress {
    case .beforeHead: .init(.incomplete(progress), "The connection was closed before a message began.")
    case .inHead: .init(.incomplete(progress), "The connection was closed within the head of a message.")
    case .inBody(let received, let expected?):
      .init(.incomplete(progress), "The connection was closed after \(received) of \(expected) bytes of the body.")
    case .inBody(let received, nil):
      .init(.incomplete(progress), "The connection was closed before the last chunk, after \(received) bytes.")
    }
  }

  /// A failure that quotes the bytes received instead of a message, shortened and printable.
  static func notHTTP(_ bytes: UnsafeRawBufferPointer, expected: StaticString) -> Self {
    var quoted = ""
    for byte in bytes.prefix(24) {
      switch byte {
      case 0x22, 0x5C: quoted += "\\" + String(UnicodeScalar(byte))
      case 0x20...0x7E: quoted.unicodeScalars.append(UnicodeScalar(byte))
      default: quoted += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    if bytes.count > 24 { quoted += "…" }
    var failure = Self(.notHTTP, "The peer does not speak HTTP/1.1: \(expected) expected, but \"\(quoted)\" came.")
    failure.heard = Array(bytes.prefix(24))
    return failure
  }
}
