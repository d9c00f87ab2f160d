package import BywayHTTPWire

/// The labels of a request in metrics: any value from outside is one of a fixed list, or `_OTHER`.
package struct RequestLabels: Hashable, Sendable {
  /// RFC 9110 §9 and RFC 5789, as OpenTelemetry lists them.
  package enum Method: String, Sendable {
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

  package enum Scheme: String, Sendable {
    case http, https
    /// The scheme of a tunnel, or of input that is not a request.
    case none = ""
    case other = "_OTHER"
  }

  package let method: Method
  package let scheme: Scheme

  package init(_ head: FieldSection) {
    (method, scheme) = head.withUnsafeBytes { bytes in
      let method = head.first(.method).map { Method(UnsafeRawBufferPointer(rebasing: bytes[$0.valueRange])) }
      let scheme = head.first(.scheme).map { Scheme(UnsafeRawBufferPointer(rebasing: bytes[$0.valueRange])) }
      return (method ?? .other, scheme ?? .none)
    }
  }
}

extension RequestLabels.Method {
  /// Length and first byte leave one candidate, compared as a whole: this runs for every exchange.
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

extension RequestLabels.Scheme {
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self = bytes.equals("http") ? .http : bytes.equals("https") ? .https : .other
  }
}
