import Byway
import Foundation
import FoundationNetworking
import HTTPTypes

extension URLError {
  /// Creates the error for a failure that a hop of Byway reports in `Proxy-Status` (RFC 9209). Returns `nil` if the response is
  /// the origin's.
  ///
  /// The end of the link is trusted. It removes reports that an origin makes in the name of a hop.
  init?(reportedBy response: HTTPResponse, at url: URL?) {
    guard let status = HopFailure.status(in: response), let message = HopFailure.message(in: response) else {
      return nil
    }
    self.init(
      Self.code(for: status.error, status: response.status.code), BywayError(status.code, message), at: url)
  }

  /// - Parameter error: a type of RFC 9209 §2.3 that hops of Byway use.
  private static func code(for error: String, status: Int) -> Code {
    switch (error, status) {
    case ("destination_unavailable", _), ("connection_refused", _): .cannotConnectToHost
    case ("connection_terminated", _), ("http_response_incomplete", _): .networkConnectionLost
    case ("http_response_timeout", _): .timedOut
    case ("tls_certificate_error", _): .serverCertificateUntrusted
    case ("http_request_denied", 421): .cannotFindHost
    case ("http_request_denied", _): .resourceUnavailable
    case ("http_request_error", 413): .dataLengthExceedsMaximum
    case ("http_request_error", _): .badURL
    default: .badServerResponse
    }
  }
}
