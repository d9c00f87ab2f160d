import Crypto
import HTTPTypes
import NIOCore
import Primitives

/// Which request a recording is the answer to. Secrets in the query are left out: they are in no recording.
///
/// A request for the link's own origin is known by its path alone: the host is whatever the client calls the device, and the
/// port is whatever the proxy was given that day. Where a request asks for another server on purpose, in absolute form through
/// a proxy or over https, that server is part of the question.
struct RecordingSubject: Hashable, Sendable {
  let method: String
  /// `/path?query`, or a whole URL.
  let target: String
  /// SHA-256 in hexadecimal digits.
  let body: String

  init(method: String, target: String, body: String) {
    self.method = method
    self.target = target
    self.body = body
  }

  init(_ request: HTTPRequest, body: String) {
    let target = TargetURI(request)
    let key = request.namesItsServer ? target.key : target.path
    self.init(method: request.method.rawValue, target: Redactor.defaults.redactedURL(key), body: body)
  }

  /// For messages: without the query, which may hold secrets.
  var place: Substring { target.prefix { $0 != "?" } }
}

/// What a body consists of, told by 64 digits.
struct BodyDigest {
  private var hash = SHA256()

  mutating func update(_ chunk: ByteBuffer) {
    chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
  }

  var text: String { Hex.text(hash.finalize()) }
}

extension HTTPRequest {
  /// The request is for the server that it names, not for whatever stands at the far end of the link.
  fileprivate var namesItsServer: Bool {
    scheme == "https" || headerFields.contains(.targetForm)
  }
}
