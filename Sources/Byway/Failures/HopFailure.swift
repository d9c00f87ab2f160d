package import HTTPTypes

/// Tells an answer of the origin from one that a gateway or proxy gave because it could not reach it.
package enum HopFailure {
  /// What the hop says; `nil` where the answer is the origin's.
  package static func message(in response: HTTPResponse) -> String? {
    guard response.status.code >= 400, let name = HTTPField.Name("Proxy-Status"),
      let field = response.headerFields[name], let status = ProxyStatus(field)
    else { return nil }
    return status.details ?? "The far end answered \(response.status.code) \(response.status.phrase)."
  }
}
