import HTTPTypes
import NIOCore

/// Secrets in bodies and messages.
extension Redactor {
  /// The form in which a body may contain secrets.
  private enum Form {
    case pairs, json, xml
    /// Lines that may contain JSON or XML: server-sent events, or one message in each.
    case lines
    /// Parts, whose fields cannot be separated without reading all of the body.
    case parts

    /// Returns `nil` if the body declares another type.
    init?(_ essence: String) {
      switch essence {
      case MediaType.form: self = .pairs
      case "application/json", "text/json": self = .json
      case _ where essence.hasSuffix("+json"): self = .json
      case "application/xml", "text/xml": self = .xml
      case _ where essence.hasSuffix("+xml"): self = .xml
      case "text/event-stream", "application/x-ndjson", "application/ndjson", "application/json-seq": self = .lines
      // Perhaps JSON or XML without a declaration.
      case "", "text/plain": self = .lines
      case _ where essence.hasPrefix("multipart/"): self = .parts
      default: return nil
      }
    }
  }

  func redact(_ content: inout TracedExchange.Content, fields: HTTPFields) {
    guard content.kept.readableBytes > 0, let form = Form(MediaType.essence(fields[.contentType] ?? "")) else { return }
    let coding = fields[.contentEncoding]?.lowercased() ?? "identity"
    guard coding != "identity", form != .parts else {
      if let changed = changed(content.kept, form) { content.kept = changed }
      return
    }
    guard let plain = ["gzip", "x-gzip"].contains(coding) ? GzipDecoder.beginning(of: content.kept) : nil else {
      // It cannot be searched for secrets.
      content.kept = ByteBuffer()
      return
    }
    guard let changed = changed(plain, form) else { return }
    content.kept = changed
    content.isRestored = true
  }

  private func changed(_ body: ByteBuffer, _ form: Form) -> ByteBuffer? {
    switch form {
    case .pairs: changedPairs(String(buffer: body)[...], separators: "&?#", depth: 0).map { ByteBuffer(string: $0) }
    case .json: changedJSON(body.readableBytesView)
    case .xml: changedXML(body.readableBytesView)
    case .lines: changedLines(body.readableBytesView)
    case .parts: ByteBuffer()
    }
  }

  private func changedJSON(_ bytes: some Collection<UInt8>) -> ByteBuffer? {
    JSONText.replacing(in: Array(bytes), where: isSecretMember, changedText: xmlChanged).map { ByteBuffer(bytes: $0) }
  }

  private func changedXML(_ bytes: some Collection<UInt8>) -> ByteBuffer? {
    XMLText.replacing(in: Array(bytes), where: isSecretMember).map { ByteBuffer(bytes: $0) }
  }

  /// Replaces secrets in a string of JSON.
  private func xmlChanged(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    text.contains(UInt8(ascii: "<")) ? XMLText.replacing(in: Array(text), where: isSecretMember) : nil
  }

  /// Replaces secrets in text. A whole document may span many lines. In other text, a quotation mark in one line must not affect
  /// the next.
  private func changedLines(_ bytes: ByteBufferView) -> ByteBuffer? {
    guard bytes.contains(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "<") }) else { return nil }
    switch bytes.first(where: { !" \t\r\n\u{1E}\u{FEFF}".utf8.contains($0) }) {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return changedJSON(bytes)
    case UInt8(ascii: "<"): return changedXML(bytes)
    default: break
    }
    var result = ByteBuffer()
    var isChanged = false
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      if line.startIndex > bytes.startIndex { result.writeInteger(0x0A as UInt8) }
      let changed =
        line.contains(UInt8(ascii: "{")) ? changedJSON(line) : line.contains(UInt8(ascii: "<")) ? changedXML(line) : nil
      isChanged = isChanged || changed != nil
      result.writeImmutableBuffer(changed ?? ByteBuffer(bytes: line))
    }
    return isChanged ? result : nil
  }

  /// Redacts a message that is JSON or XML.
  package func redactedMessage(_ text: String) -> String {
    isIdle ? text : changedLines(ByteBuffer(string: text).readableBytesView).map { String(buffer: $0) } ?? text
  }

  /// Whether a member names a secret. In JSON, `code` and the like name other things as well.
  private func isSecretMember(_ name: String) -> Bool {
    isSecret(name) && !["code", "sid", "ticket"].contains(name.lowercased())
  }
}
