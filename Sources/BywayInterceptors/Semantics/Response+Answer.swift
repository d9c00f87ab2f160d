package import Byway
package import HTTPTypes

extension Response {
  /// Returns an answer that is made here in the form of an origin's: without a body where HTTP allows none, and with its length if
  /// that is known (RFC 9110 §6.4.1, §8.6, §15.3.6).
  package func answering(_ request: HTTPRequest) -> Response {
    var answer = self
    let code = status.code
    let isReset = code == 205
    let isBodiless = code == 204 || code == 304 || code < 200
    if isReset {
      answer.head.headerFields[.contentLength] = "0"
      answer.head.headerFields[.contentType] = nil
    } else if !isBodiless, !request.kind.asksForTunnel, let length = body.length, fields[.contentLength] == nil {
      answer.head.headerFields[.contentLength] = String(length)
    }
    if isBodiless || isReset || request.method == .head { answer.body = .empty }
    return answer
  }
}
