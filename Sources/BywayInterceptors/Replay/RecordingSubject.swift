import BywayPrimitives
import Crypto
import HTTPTypes
import NIOCore

/// The request that a recording answers. Secrets in the query are left out, as no recording contains them.
///
/// A request for the link's own origin is identified by its path alone: clients choose the host's name, and the proxy's port may
/// differ from day to day. If a request asks for another server on purpose, in absolute form through a proxy or over https, that
/// server counts as well.
struct RecordingSubject: Hashable, Sendable {
  let method: String
  /// A path with its query, `/path?query`, or a whole URL.
  let target: String
  /// The SHA-256 of the body in hexadecimal digits.
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

  /// The target for messages, without the query, which may contain secrets.
  var place: Substring { target.prefix { $0 != "?" } }
}

/// A digest of a body in 64 digits.
struct BodyDigest {
  private var hash = SHA256()

  mutating func update(_ chunk: ByteBuffer) {
    chunk.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
  }

  var text: String { Hex.text(hash.finalize()) }
}

extension HTTPRequest {
  /// Whether the request is for the server that it names, not for the origin of the gateway.
  fileprivate var namesItsServer: Bool {
    scheme == "https" || headerFields.contains(.targetForm)
  }
}
