import Byway
import HTTPWire

/// The attributes of an exchange, of which each has few values: what comes from outside is one of a known list, or `_OTHER`.
struct ExchangeLabels: Hashable, Sendable {
  /// RFC 9110 §9 and RFC 5789, as OpenTelemetry lists them.
  enum Method: String {
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
    method = exchange.head.withValue(of: .method) { Method($0) } ?? .other
    scheme = exchange.head.withValue(of: .scheme) { Scheme($0) } ?? .none
  }
}

extension ExchangeLabels.Method {
  /// Length and first byte leave one candidate, compared whole: this is asked of every exchange, and more than once.
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    switch (bytes.count, bytes.first) {
    case (3, UInt8(ascii: "G")): self = bytes.equals("GET") ? .get : .other
    case (3, UInt8(ascii: "P")): self = bytes.equals("PUT") ? .put : .other
    case (4, UInt8(ascii: "P")): self = bytes.equals("POST") ? .post : .other
    case (4, UInt8(ascii: "H")): self = bytes.equals("HEAD") ? .head : .other
    case (5, UInt8(ascii: "P")): self = bytes.equals("PATCH") ? .patch : .other
    case (5, UInt8(ascii: "T")): self = bytes.equals("TRACE") ? .trace : .other
    case (6, UInt8(ascii: "D")): self = bytes.equals("DELETE") ? .delete : .other
    case (7, UInt8(ascii: "O")): self = bytes.equals("OPTIONS") ? .options : .other
    case (7, UInt8(ascii: "C")): self = bytes.equals("CONNECT") ? .connect : .other
    default: self = .other
    }
  }
}

extension ExchangeLabels.Scheme {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self = bytes.equals("http") ? .http : bytes.equals("https") ? .https : .other
  }
}

/// How an exchange ended, in as few values.
struct ExchangeOutcome: Hashable, Sendable {
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
