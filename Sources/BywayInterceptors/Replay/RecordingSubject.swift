import Crypto
import HTTPTypes
import NIOCore

/// Which request a recording is the answer to. Secrets in the query are left out: they are in no recording.
struct RecordingSubject: Hashable, Sendable {
  let method: String
  let url: String
  /// SHA-256 in hexadecimal digits.
  let body: String

  init(method: String, url: String, body: String) {
    self.method = method
    self.url = url
    self.body = body
  }

  init(_ request: HTTPRequest, body: String) {
    self.init(
      method: request.method.rawValue, url: Redactor.defaults.redactedURL(Target(request).key), body: body)
  }
}

/// What a body consists of, told by 64 digits.
struct BodyDigest {
  private var hash = SHA256()

  mutating func update(_ chunk: ByteBuffer) {
    chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
  }

  var text: String { Hex.text(hash.finalize()) }
}
