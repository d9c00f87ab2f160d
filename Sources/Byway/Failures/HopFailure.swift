package import HTTPTypes

/// Tells an answer of the origin from one that a gateway or proxy gave because it could not reach it.
package enum HopFailure {
  /// The hop's message; `nil` where the answer is the origin's.
  package static func message(in response: HTTPResponse) -> String? {
    status(in: response).map { $0.details ?? "The far end answered \(response.status.code) \(response.status.phrase)." }
  }

  /// The hop's `Proxy-Status`; `nil` where the answer is the origin's.
  package static func status(in response: HTTPResponse) -> ProxyStatus? {
    guard response.status.code >= 400, let name = HTTPField.Name("Proxy-Status"),
      let field = response.headerFields[name]
    else { return nil }
    return ProxyStatus(field)
  }
}
