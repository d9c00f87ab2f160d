import HTTP1Session
package import HTTPTypes

extension HTTPResponse.Status {
  /// What HTTP/1.1 says besides the code: HTTP/2 carries no phrase, so that most responses come without one.
  package var phrase: String {
    reasonPhrase.isEmpty ? "\(ReasonPhrase.of(code))" : reasonPhrase
  }
}
