package import HTTPTypes

/// Distinguishes an origin's response from one of a gateway or proxy that could not reach it.
package enum HopFailure {
  /// Returns the hop's message; `nil` if the response is the origin's.
  package static func message(in response: HTTPResponse) -> String? {
    status(in: response).map { $0.details ?? "The far end answered \(response.status.code) \(response.status.phrase)." }
  }

  /// Returns the hop's `Proxy-Status`; `nil` if the response is the origin's.
  package static func status(in response: HTTPResponse) -> ProxyStatus? {
    guard response.status.code >= 400, let name = HTTPField.Name("Proxy-Status"),
      let field = response.headerFields[name]
    else { return nil }
    return ProxyStatus(field)
  }
}
