import Foundation

/// A failure as Byway reports it to HTTP clients (RFC 9457), with its `Proxy-Status` (RFC 9209).
package struct Problem: Sendable {
  package let status: Int
  package let proxyStatus: String
  /// Title and detail.
  package let words: String
}

extension CurlAnswer {
  /// - Throws: ``PeerFailure`` if the response is not a problem according to both RFCs.
  package func problem() throws -> Problem {
    struct Body: Decodable {
      let title: String
      let detail: String?
      let status: Int
    }
    guard values("content-type").first?.hasPrefix("application/problem+json") == true else {
      throw PeerFailure(
        "answer \(status) (curl \(exitCode)) is not a problem document: \(text.prefix(300)) \(errorText)")
    }
    let body: Body = try json()
    guard body.status == status, let proxyStatus = values("proxy-status").first else {
      throw PeerFailure("answer \(status) contradicts its body or has no Proxy-Status: \(text.prefix(300))")
    }
    return Problem(
      status: status, proxyStatus: proxyStatus, words: [body.title, body.detail ?? ""].joined(separator: " "))
  }
}
