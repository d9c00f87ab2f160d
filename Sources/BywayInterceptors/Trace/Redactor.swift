package import HTTPTypes
import HTTPWire
import NIOCore
import Primitives

/// Puts ``Trace/Redaction/mark`` in the place of secrets. Made once, as it is asked about every field of every exchange.
package struct Redactor: Sendable {
  package static let defaults = Redactor(.defaults)

  /// Not indexed because it never comes again.
  private static let traceparent = HTTPField.Name("traceparent")

  private let words: WordFinder
  private let parts: Set<String>
  private let parameters: Set<String>
  private let segments: SegmentFinder
  private let isIdle: Bool

  init(_ redaction: Trace.Redaction) {
    words = WordFinder(redaction.words)
    parts = redaction.parts
    parameters = redaction.parameters
    segments = SegmentFinder(redaction.segments)
    isIdle = redaction == .none
  }

  /// What is not a secret stays as it is, and is not copied either.
  package func redact(_ exchange: inout TracedExchange) {
    if isIdle { return }
    if let path = exchange.request.path, let redacted = changedURL(path) { exchange.request.path = redacted }
    if let authority = exchange.request.authority {
      let (user, rest) = Authority.splitUser(authority[...])
      if user != nil { exchange.request.authority = String(rest) }
    }
    redact(&exchange.requestBody, fields: exchange.request.headerFields)
    redact(&exchange.request.headerFields)
    if let fields = exchange.response?.headerFields {
      redact(&exchange.responseBody, fields: fields)
      if fields.contains(where: { changed($0) != nil }) { exchange.response?.headerFields = redacted(fields) }
    }
  }

  package func redacted(_ fields: HTTPFields) -> HTTPFields {
    HTTPFields(fields.map { changed($0) ?? $0 })
  }

  /// Without credentials in front of the host, secrets among the parameters of query and fragment, and those that the path
  /// announces.
  package func redactedURL(_ url: String) -> String {
    changedURL(url) ?? url
  }

  /// The same of bytes.
  /// - Returns: `nil` where there is no secret.
  package func changedURL(_ url: UnsafeRawBufferPointer) -> String? {
    // Most have nothing in them that could hide one.
    guard url.contains(where: Self.mayHide) || segments.finds(in: url) else { return nil }
    return changedURL(String(decoding: url, as: UTF8.self))
  }

  /// Text with URLs in it, as in `User-Agent`.
  /// - Returns: `nil` where there is no secret.
  package func changedText(_ text: UnsafeRawBufferPointer) -> String? {
    // Every browser has a slash in its name, and hardly any two of them, as a URL has.
    guard Self.hasTwoSlashes(text) else { return nil }
    return changedText(String(decoding: text, as: UTF8.self))
  }

  private static func hasTwoSlashes(_ text: UnsafeRawBufferPointer) -> Bool {
    var start = 0
    while let slash = text.firstOffset(of: UInt8(ascii: "/"), from: start), slash + 1 < text.count {
      if text[slash + 1] == UInt8(ascii: "/") { return true }
      start = slash + 1
    }
    return false
  }

  private func redact(_ fields: inout HTTPFields) {
    if fields.contains(where: { changed($0) != nil }) { fields = redacted(fields) }
  }

  // MARK: Each function answers `nil` where there is no secret.

  private func changed(_ field: HTTPField) -> HTTPField? {
    let name = field.name
    let isLogin = name == .authorization || name == .proxyAuthorization
    var field = field
    if isLogin || field.indexingStrategy == .disallow && name != Self.traceparent || namesSecret(name.canonicalName) {
      // Which scheme it was is often the question; a lone word may be the secret itself.
      let scheme = isLogin ? field.value.utf8.firstIndex(of: UInt8(ascii: " ")).map { field.value[...$0] } : nil
      field.value = (scheme ?? "") + Trace.Redaction.mark
      return field
    }
    let changed: String?
    switch name {
    case .location, .contentLocation, .referer, .origin: changed = changedURL(field.value)
    case .userAgent: changed = changedText(field.value)
    case .wwwAuthenticate, .proxyAuthenticate: changed = Self.changedChallenge(field.value)
    case .secWebSocketProtocol: changed = field.value.lowercased().contains("bearer") ? Trace.Redaction.mark : nil
    case _ where Self.urls.contains(name.canonicalName): changed = changedURL(field.value)
    case _ where Self.texts.contains(name.canonicalName): changed = changedText(field.value, needsHost: false)
    default: changed = nil
    }
    guard let changed else { return nil }
    field.value = changed
    return field
  }

  /// Fields that are a URL, or have some.
  private static let urls: Set<String> = [
    "destination", "x-original-url", "x-original-uri", "x-rewrite-url", "x-forwarded-uri",
  ]
  private static let texts: Set<String> = ["link", "refresh"]

  /// A challenge of Negotiate or NTLM has the server's half of a proof (RFC 4559); others have parameters that are not secret.
  private static func changedChallenge(_ value: String) -> String? {
    guard let space = value.firstIndex(of: " ") else { return nil }
    let scheme = value[..<space].lowercased()
    return scheme == "negotiate" || scheme == "ntlm" ? value[...space] + Trace.Redaction.mark : nil
  }

  /// What stands between spaces and brackets may be a URL.
  private func changedText(_ text: String, needsHost: Bool = true) -> String? {
    var result: String?
    var copied = text.startIndex
    for word in text.utf8.split(whereSeparator: { " \t<>()[]\"',".utf8.contains($0) }) {
      guard !needsHost || Substring(word).contains("//"), let changed = changedURL(String(Substring(word))) else {
        continue
      }
      result = (result ?? "") + text[copied..<word.startIndex] + changed
      copied = word.endIndex
    }
    return result.map { $0 + text[copied...] }
  }

  private static func mayHide(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"), UInt8(ascii: ";"), UInt8(ascii: "%"): true
    default: false
    }
  }

  /// - Parameter depth: how many URLs this one stands in.
  private func changedURL(_ url: String, depth: Int = 0) -> String? {
    let bytes = url.utf8
    let parameters = bytes.firstIndex { "?#".utf8.contains($0) } ?? bytes.endIndex
    let credentials = Self.credentials(in: url[..<parameters])
    let place =
      credentials.map { String(url[..<$0.lowerBound] + url[$0.upperBound..<parameters]) } ?? String(url[..<parameters])
    // Parameters of a path (RFC 3986 §3.3): ;jsessionid=…
    let path = changedPath(place, depth: depth)
    let form = changedPairs(url[parameters...], separators: "&?#", depth: depth)
    if credentials == nil, path == nil, form == nil { return nil }
    return (path ?? place) + (form ?? String(url[parameters...]))
  }

  private func changedPath(_ path: String, depth: Int) -> String? {
    let pairs = changedPairs(path[...], separators: "/", depth: depth)
    var result = ""
    var isAnnounced = false
    var isChanged = false
    for (index, segment) in (pairs ?? path).split(separator: "/", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { result += "/" }
      let isSecret = isAnnounced && !segment.isEmpty
      isChanged = isChanged || isSecret
      result += isSecret ? Trace.Redaction.mark[...] : segment
      isAnnounced = !isSecret && segments.isOne(Self.decoded(segment.utf8).lowercased())
    }
    return isChanged ? result : pairs
  }

  /// What stands before the host, the sign between them included.
  private static func credentials(in place: Substring) -> Range<Substring.Index>? {
    guard place.utf8.contains(UInt8(ascii: "@")), let authority = place.firstRange(of: "//")?.upperBound else {
      return nil
    }
    let end = place.utf8[authority...].firstIndex(of: UInt8(ascii: "/")) ?? place.endIndex
    let (user, rest) = Authority.splitUser(place[authority..<end])
    return user == nil ? nil : authority..<rest.startIndex
  }

  /// Pairs, with whatever stands between them left as it is. A semicolon may stand between pairs and within a value: what
  /// follows a secret is one up to the next separator.
  private func changedPairs(_ text: Substring, separators: String, depth: Int) -> String? {
    var result: String?
    var copied = text.startIndex
    var rest = text.utf8
    while !rest.isEmpty {
      let part = rest.prefix { !separators.utf8.contains($0) }
      if let secret = secret(in: part, depth: depth) {
        result = (result ?? "") + text[copied..<secret] + Trace.Redaction.mark
        copied = part.endIndex
      }
      rest = rest[part.endIndex...].dropFirst()
    }
    return result.map { $0 + text[copied...] }
  }

  /// Where the first secret begins among pairs with semicolons between them.
  private func secret(in part: Substring.UTF8View, depth: Int) -> Substring.Index? {
    var rest = part
    while !rest.isEmpty {
      let pair = rest.prefix { $0 != UInt8(ascii: ";") }
      if let equals = pair.firstIndex(of: UInt8(ascii: "=")) {
        let value = pair[pair.index(after: equals)...]
        if isSecret(Self.decoded(pair[..<equals])) || holdsSecret(Substring(value), depth: depth) {
          return value.startIndex
        }
      } else if pair.contains(UInt8(ascii: "%")), holdsSecret(Substring(pair), depth: depth) {
        // A whole URL, escaped.
        return pair.startIndex
      }
      rest = rest[pair.endIndex...].dropFirst()
    }
    return nil
  }

  /// A URL in a value, perhaps escaped several times, may have a secret of its own.
  private func holdsSecret(_ value: Substring, depth: Int) -> Bool {
    guard value.utf8.contains(where: { "%/?".utf8.contains($0) }) else { return false }
    // Who wraps a value that often hides something.
    guard depth < Self.depthLimit else { return true }
    if value.contains("//") || value.contains("?"), changedURL(String(value), depth: depth + 1) != nil { return true }
    guard value.utf8.contains(UInt8(ascii: "%")), let plain = PercentEncoding.decode(value), plain != value else {
      return false
    }
    if plain.utf8.contains(UInt8(ascii: "=")), changedPairs(plain[...], separators: "&?#", depth: depth + 1) != nil {
      return true
    }
    return holdsSecret(plain[...], depth: depth + 1)
  }

  private static let depthLimit = 6

  /// However often it was escaped.
  private static func decoded(_ name: Substring.UTF8View) -> String {
    var text = String(Substring(name))
    for _ in 0..<depthLimit {
      guard text.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "%") }),
        let plain = PercentEncoding.decode(text.replacing("+", with: " ")), plain != text
      else { break }
      text = plain
    }
    return text
  }

  private func isSecret(_ parameter: String) -> Bool {
    let name = parameter.lowercased()
    return parameters.contains(name) || namesSecret(name)
  }

  /// - Parameter name: in lower case.
  private func namesSecret(_ name: String) -> Bool {
    if words.finds(in: name) { return true }
    guard !parts.isEmpty else { return false }
    return name.utf8.split { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".") }
      .contains { part in parts.contains { $0.utf8.elementsEqual(part) } }
  }

  // MARK: Bodies

  /// How secrets stand in a body.
  private enum Form {
    case pairs, json
    /// A line may have some of it: server-sent events, or one message in each.
    case lines
    /// Its fields cannot be told apart without reading all of it.
    case parts

    /// `nil` where a body says of itself that it is something else.
    init?(_ essence: String) {
      switch essence {
      case MediaType.form: self = .pairs
      case "application/json", "text/json": self = .json
      case _ where essence.hasSuffix("+json"): self = .json
      case "text/event-stream", "application/x-ndjson", "application/ndjson", "application/json-seq": self = .lines
      // Somebody's JSON that does not say so.
      case "", "text/plain": self = .lines
      case _ where essence.hasPrefix("multipart/"): self = .parts
      default: return nil
      }
    }
  }

  private func redact(_ content: inout TracedExchange.Content, fields: HTTPFields) {
    guard content.kept.readableBytes > 0, let form = Form(MediaType.essence(fields[.contentType] ?? "")) else { return }
    let coding = fields[.contentEncoding]?.lowercased() ?? "identity"
    guard coding != "identity", form != .parts else {
      if let changed = changed(content.kept, form) { content.kept = changed }
      return
    }
    guard let plain = ["gzip", "x-gzip"].contains(coding) ? GzipDecoder.beginning(of: content.kept) : nil else {
      // Whether it has secrets cannot be seen from here.
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
    case .lines: changedLines(body.readableBytesView)
    case .parts: ByteBuffer()
    }
  }

  private func changedJSON(_ bytes: some Collection<UInt8>) -> ByteBuffer? {
    let before = Array(bytes)
    let after = JSONText.replacing(in: before, where: isSecretMember)
    return after == before ? nil : ByteBuffer(bytes: after)
  }

  /// A whole document may go over many lines; else a quotation mark in one must not spoil the next.
  private func changedLines(_ bytes: ByteBufferView) -> ByteBuffer? {
    guard bytes.contains(UInt8(ascii: "{")) else { return nil }
    let first = bytes.first { !" \t\r\n\u{1E}".utf8.contains($0) }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return changedJSON(bytes) }
    var result = ByteBuffer()
    var isChanged = false
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      if line.startIndex > bytes.startIndex { result.writeInteger(0x0A as UInt8) }
      let changed = line.contains(UInt8(ascii: "{")) ? changedJSON(line) : nil
      isChanged = isChanged || changed != nil
      result.writeImmutableBuffer(changed ?? ByteBuffer(bytes: line))
    }
    return isChanged ? result : nil
  }

  /// What is said in one message, where it is JSON.
  package func redactedMessage(_ text: String) -> String {
    isIdle ? text : changedLines(ByteBuffer(string: text).readableBytesView).map { String(buffer: $0) } ?? text
  }

  /// There these are names of other things as well: of an error, of a sale.
  private func isSecretMember(_ name: String) -> Bool {
    isSecret(name) && !["code", "sid", "ticket"].contains(name.lowercased())
  }
}
