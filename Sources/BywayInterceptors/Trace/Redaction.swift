import HTTPTypes
import NIOCore

extension Trace {
  /// What of an exchange is a secret, by the names of fields and of parameters in queries, forms and JSON.
  public struct Redaction: Sendable, Hashable {
    /// What stands in a secret's place.
    public static let mark = "[redacted]"

    /// A name that has one of these in it names a secret. In lower case.
    public var words: Set<String>
    /// So does a parameter, not a field, whose whole name is one of these. In lower case.
    public var parameters: Set<String>

    public init(words: Set<String>, parameters: Set<String>) {
      self.words = words
      self.parameters = parameters
    }

    public static let defaults = Redaction(
      words: [
        "authorization", "cookie", "token", "secret", "passw", "passphrase", "api-key", "apikey", "api_key", "session",
        "signature", "credential", "private",
      ],
      parameters: ["key", "sig", "pwd", "pass", "code", "pin", "otp", "auth"])

    /// Shows everything: the record is then worth as much as the passwords in it.
    public static let none = Redaction(words: [], parameters: [])
  }
}

extension Trace.Redaction {
  func redacted(_ exchange: TracedExchange) -> TracedExchange {
    guard self != .none else { return exchange }
    var exchange = exchange
    exchange.request.path = exchange.request.path.map { redactedURL($0) }
    exchange.request.authority = exchange.request.authority.map { String($0.split(separator: "@").last ?? "") }
    exchange.request.headerFields = redacted(exchange.request.headerFields)
    exchange.requestBody = redacted(exchange.requestBody, type: exchange.request.headerFields[.contentType])
    if let response = exchange.response {
      exchange.response?.headerFields = redacted(response.headerFields)
      exchange.responseBody = redacted(exchange.responseBody, type: response.headerFields[.contentType])
    }
    return exchange
  }

  func redacted(_ fields: HTTPFields) -> HTTPFields {
    var result = HTTPFields()
    for var field in fields {
      switch field.name {
      case .location, .contentLocation, .referer: field.value = redactedURL(field.value)
      case .authorization, .proxyAuthorization:
        // Which scheme it was is often the question; a lone word may be the secret itself.
        let scheme = field.value.prefix { $0 != " " }
        field.value = (scheme.count < field.value.count ? scheme + " " : "") + Self.mark
      case _ where field.indexingStrategy == .disallow || hasWord(field.name.canonicalName):
        field.value = Self.mark
      default: break
      }
      result.append(field)
    }
    return result
  }

  /// Credentials in front of the host, and the parameters of query and fragment.
  func redactedURL(_ url: String) -> String {
    guard url.utf8.contains(where: { "?#@".utf8.contains($0) }) else { return url }
    let parameters = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
    var place = url[..<parameters]
    if let authority = place.firstRange(of: "//")?.upperBound {
      let end = place[authority...].firstIndex(of: "/") ?? place.endIndex
      if let at = place[authority..<end].lastIndex(of: "@") { place.removeSubrange(authority...at) }
    }
    return place + redactedForm(String(url[parameters...]))
  }

  /// Pairs, with whatever stands between them left as it is.
  private func redactedForm(_ form: String) -> String {
    var result = ""
    var rest = form.utf8[...]
    while !rest.isEmpty {
      let pair = rest.prefix { !"&?#".utf8.contains($0) }
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      if name.endIndex < pair.endIndex, isSecret(Self.decoded(name)) {
        result += "\(Substring(name))=\(Self.mark)"
      } else {
        result += Substring(pair)
      }
      rest = rest[pair.endIndex...]
      if let separator = rest.popFirst() { result.unicodeScalars.append(UnicodeScalar(separator)) }
    }
    return result
  }

  private static func decoded(_ name: Substring.UTF8View) -> String {
    let text = String(Substring(name))
    guard name.contains(where: { "+%".utf8.contains($0) }) else { return text }
    return PercentEncoding.decode(text.replacing("+", with: " ")) ?? text
  }

  private func isSecret(_ parameter: String) -> Bool {
    let name = parameter.lowercased()
    return parameters.contains(name) || hasWord(name)
  }

  /// Byte by byte, as this is done for every field of every exchange.
  private func hasWord(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { name in
      words.contains { word in
        let word = word.utf8
        guard let first = word.first, word.count <= name.count else { return word.isEmpty }
        return (0...name.count - word.count).contains { start in
          name[start] == first && name[start..<start + word.count].elementsEqual(word)
        }
      }
    }
  }

  private func redacted(_ content: TracedExchange.Content, type: String?) -> TracedExchange.Content {
    guard content.kept.readableBytes > 0 else { return content }
    let essence = MediaType.essence(type ?? "")
    var content = content
    switch essence {
    case MediaType.form:
      content.kept = ByteBuffer(string: redactedForm(String(buffer: content.kept)))
    case _ where essence == "application/json" || essence.hasSuffix("+json"):
      content.kept = ByteBuffer(bytes: JSONText.replacing(in: Array(content.kept.readableBytesView), where: isSecret))
    case _ where essence.hasPrefix("multipart/"):
      // Its fields cannot be told apart without reading all of it.
      content.kept = ByteBuffer()
    default: break
    }
    return content
  }
}
