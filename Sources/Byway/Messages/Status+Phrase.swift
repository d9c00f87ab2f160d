import BywayHTTP1Session
package import HTTPTypes

extension HTTPResponse.Status {
  /// The reason phrase of HTTP/1.1. HTTP/2 carries none, so the standard phrase is used if it is missing.
  package var phrase: String {
    reasonPhrase.isEmpty ? "\(ReasonPhrase.of(code))" : reasonPhrase
  }
}
