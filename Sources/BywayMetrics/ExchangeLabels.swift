import Byway

/// The attributes of an exchange, of which each has few values: what comes from outside is one of a known list, or `_OTHER`.
struct ExchangeLabels: Hashable {
  /// RFC 9110 §9 and RFC 5789, as OpenTelemetry lists them.
  enum Method: String, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
    case connect = "CONNECT"
    case options = "OPTIONS"
    case trace = "TRACE"
    case patch = "PATCH"
    case other = "_OTHER"
  }

  enum Scheme: String {
    case http, https
    /// Of a tunnel, or of what is no request.
    case none = ""
    case other = "_OTHER"
  }

  let method: Method
  let scheme: Scheme

  init(_ exchange: ExchangeRecord) {
    method = exchange.head.withValue(of: .method, Self.method) ?? .other
    scheme = exchange.head.withValue(of: .scheme, Self.scheme) ?? .none
  }

  private static func method(_ bytes: UnsafeRawBufferPointer) -> Method {
    // By length, and then compared whole: this is asked of every exchange.
    let candidates: [Method] =
      switch bytes.count {
      case 3: [.get, .put]
      case 4: [.post, .head]
      case 5: [.patch, .trace]
      case 6: [.delete]
      case 7: [.options, .connect]
      default: []
      }
    return candidates.first { bytes.elementsEqual($0.rawValue.utf8) } ?? .other
  }

  private static func scheme(_ bytes: UnsafeRawBufferPointer) -> Scheme {
    if bytes.elementsEqual("http".utf8) { return .http }
    return bytes.elementsEqual("https".utf8) ? .https : .other
  }
}

/// How an exchange ended, in as few values.
struct ExchangeOutcome: Hashable {
  private let status: Int
  private let failure: BywayError.Code?

  init(_ exchange: ExchangeRecord) {
    status = exchange.status ?? 0
    failure = exchange.failure?.code
  }

  /// Nothing where there was none.
  var statusText: String {
    switch status {
    case 0: ""
    // The origin may say what it likes.
    case 100...599: "\(status)"
    default: "_OTHER"
    }
  }

  /// The code of the failure, or the status of an answer that tells of one; nothing where all went well.
  var errorText: String {
    if let failure { return "\(failure)" }
    return status >= 500 ? statusText : ""
  }
}
