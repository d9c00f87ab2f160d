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
      let name = field.name.canonicalName
      switch field.name {
      case .location, .contentLocation, .referer: field.value = redactedURL(field.value)
      case .authorization, .proxyAuthorization:
        // Which scheme it was is often the question.
        field.value = field.value.prefix { $0 != " " } + " " + Self.mark
      case _ where words.contains(where: name.contains) || field.indexingStrategy == .disallow:
        field.value = Self.mark
      default: break
      }
      result.append(field)
    }
    return result
  }

  /// The parameters of the query, where there is one.
  func redactedURL(_ url: String) -> String {
    guard let question = url.firstIndex(of: "?") else { return url }
    let form = String(url[url.index(after: question)...])
    return url[...question] + redactedForm(form)
  }

  private func redactedForm(_ form: String) -> String {
    form.split(separator: "&", omittingEmptySubsequences: false).map { pair in
      let name = pair.prefix { $0 != "=" }
      let decoded = PercentEncoding.decode(String(name).replacing("+", with: " ")) ?? String(name)
      return isSecret(decoded) && name.count < pair.count ? "\(name)=\(Self.mark)" : String(pair)
    }.joined(separator: "&")
  }

  private func isSecret(_ parameter: String) -> Bool {
    let name = parameter.lowercased()
    return parameters.contains(name) || words.contains { name.contains($0) }
  }

  private func redacted(_ content: TracedExchange.Content, type: String?) -> TracedExchange.Content {
    guard content.kept.readableBytes > 0 else { return content }
    let essence = MediaType.essence(type ?? "")
    var content = content
    switch essence {
    case MediaType.form:
      content.kept = ByteBuffer(string: redactedForm(String(buffer: content.kept)))
    case _ where essence == "application/json" || essence.hasSuffix("+json"):
      content.kept = ByteBuffer(bytes: redactedJSON(Array(content.kept.readableBytesView)))
    case _ where essence.hasPrefix("multipart/"):
      // Its fields cannot be told apart without reading all of it.
      content.kept = ByteBuffer()
    default: break
    }
    return content
  }

  /// Takes text that is cut off anywhere.
  private func redactedJSON(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\"") else {
        result.append(bytes[index])
        index += 1
        continue
      }
      let end = Self.endOfString(bytes, from: index)
      let text = String(decoding: bytes[(index + 1)..<max(index + 1, end - 1)], as: UTF8.self)
      result += bytes[index..<end]
      index = end
      let value = bytes[index...].firstIndex { !" \t\r\n:".utf8.contains($0) } ?? bytes.count
      guard bytes[index..<value].contains(UInt8(ascii: ":")), isSecret(text), value < bytes.count else { continue }
      result += bytes[index..<value]
      // An object or an array has names of its own.
      if bytes[value] != UInt8(ascii: "{"), bytes[value] != UInt8(ascii: "[") {
        result += "\"\(Self.mark)\"".utf8
        index = Self.endOfValue(bytes, from: value)
      } else {
        index = value
      }
    }
    return result
  }

  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return bytes.count
  }

  private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
    if bytes[start] == UInt8(ascii: "\"") { return endOfString(bytes, from: start) }
    return bytes[start...].firstIndex { ",}] \t\r\n".utf8.contains($0) } ?? bytes.count
  }
}
