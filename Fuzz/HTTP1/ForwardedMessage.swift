import BywayHTTP1Session
package import BywayHTTPWire
import FuzzSupport
import NIOCore

/// A message as it was read. When it is written for the next hop, that hop must read the same message. A difference between
/// two hops would allow request smuggling.
package struct ForwardedMessage {
  package var head: FieldSection
  var hasBody: Bool
  package var body: [UInt8] = []
  package var trailers: FieldSection?

  /// Checks that the next hop reads exactly the requests that were written.
  static func checkRequests(_ outcome: Outcome) throws(Violation) {
    var wire = ByteBuffer()
    var encoder = RequestEncoder()
    var written: [ForwardedMessage] = []
    for message in complete(outcome) {
      let options = RequestEncoder.Options(hasBody: message.hasBody)
      guard (try? encoder.writeHead(message.head, options, into: &wire)) != nil else { continue }
      written.append(message)
      // The bytes after a CONNECT are not a request.
      if encoder.framing == .tunnel { break }
      try message.writeBody(by: &encoder, into: &wire)
    }
    let reread = readRequests([Array(wire.readableBytesView)])
    try expect(reread.failure == nil, "the next hop refuses what was accepted: \(reread)")
    try compare(complete(reread), with: written)
  }

  static func checkResponse(_ outcome: Outcome, to kind: RequestKind) throws(Violation) {
    guard let message = complete(outcome).first else { return }
    var wire = ByteBuffer()
    var encoder = ResponseEncoder()
    let context = ResponseEncoder.Context(request: kind)
    guard (try? encoder.writeHead(message.head, context, hasBody: message.hasBody, into: &wire)) != nil else { return }
    try message.writeBody(by: &encoder, into: &wire)
    let reread = readResponse([Array(wire.readableBytesView)], to: kind, closed: encoder.framing == .tunnel)
    try expect(reread.failure == nil, "the next hop refuses what was accepted: \(reread)")
    try compare(complete(reread), with: [message])
  }

  /// Returns the messages that were read completely, up to an upgrade.
  package static func complete(_ outcome: Outcome) -> [ForwardedMessage] {
    var messages: [ForwardedMessage] = []
    var current: ForwardedMessage?
    for event in outcome.events {
      switch event {
      case .request(let head, let framing, _), .response(let head, let framing, _):
        current = ForwardedMessage(head: head, hasBody: framing != .none && framing != .length(0))
      case .body(let bytes):
        current?.body += bytes
      case .end(let trailers):
        current?.trailers = trailers
        if let message = current { messages.append(message) }
        current = nil
      case .informational, .upgraded:
        break
      }
    }
    return messages
  }

  private func writeBody(
    by encoder: inout some MessageEncoder, into wire: inout ByteBuffer
  ) throws(Violation) {
    do {
      if hasBody, !body.isEmpty { try encoder.writeBody(ByteBuffer(bytes: body), into: &wire) }
      try encoder.writeEnd(trailers: trailers, into: &wire)
    } catch {
      throw Violation("what was read cannot be written: \(error.message)")
    }
  }

  private static func compare(
    _ reread: [ForwardedMessage], with written: [ForwardedMessage]
  ) throws(Violation) {
    try expect(
      reread.count == written.count, "\(written.count) went out, \(reread.count) arrived: \(reread)")
    for (after, before) in zip(reread, written) {
      try expect(after.body == before.body, "the body changed: \(after.body)")
      for field in [KnownField.method, .path, .authority, .status] {
        let (old, new) = (before.head.value(of: field), after.head.value(of: field))
        try expect(old == new, "\(field) was \(old ?? "absent") and became \(new ?? "absent")")
      }
      let known = Set(lines(of: before.head) + lines(of: before.trailers))
      let new = (lines(of: after.head) + lines(of: after.trailers)).filter { line in
        // A missing length is added, and lines of cookies are joined (RFC 9113 §8.2.3).
        !known.contains(line) && !line.hasPrefix("content-length: ") && !line.hasPrefix("cookie: ")
      }
      try expect(new.isEmpty, "fields from nowhere: \(new)")
    }
  }

  private static func lines(of section: FieldSection?) -> [String] {
    section?.lines.map { "\(section?.name(of: $0) ?? ""): \(section?.value(of: $0) ?? "")" } ?? []
  }
}
