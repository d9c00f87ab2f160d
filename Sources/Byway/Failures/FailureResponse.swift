package import BywayHTTPWire
import BywayPrimitives
package import NIOCore

/// The response to an exchange that failed before its response began: a status, `Proxy-Status` (RFC 9209) and a problem document (RFC
/// 9457), or a page for a browser, or the form that gRPC clients read.
package struct FailureResponse {
  /// The form in which a client can read the failure.
  package enum Form: Sendable {
    case problem
    /// A status of 200, and the failure in the trailers, which are the head where nothing else follows (gRPC over HTTP/2, "Trailers-Only").
    /// A gRPC client shows nothing of any other response but its status.
    case grpc
    /// A page for a browser.
    case page

    package init(answering request: FieldSection) {
      let isGRPC = request.withValue(of: .contentType) { value in
        let name: StaticString = "application/grpc"
        let length = name.utf8CodeUnitCount
        guard UnsafeRawBufferPointer(rebasing: value.prefix(length)).equals(name) else { return false }
        // For "application/grpc-web" the client is the proxy that translates it.
        return value.count == length || "+; ".utf8.contains(value[length])
      }
      if isGRPC ?? false {
        self = .grpc
      } else {
        self = FailurePage.isWanted(by: request) ? .page : .problem
      }
    }
  }

  package let head: FieldSection
  package let body: ByteBuffer

  /// - Parameters:
  ///   - hop: the name of this hop in `Via` and `Proxy-Status`.
  ///   - status: replaces the status of the error's code.
  ///   - title: replaces the title of the error's code.
  package init(
    _ error: BywayError, hop: String, status: Int? = nil, title: String? = nil, form: Form = .problem
  ) {
    let kind = Kind(error.code, title: title)
    if case .grpc = form {
      var head: FieldSection = [":status": "200", "content-type": "application/grpc"]
      let trailers = Self.trailers(of: error, hop: hop)
      for line in trailers.lines { head.append(line, of: trailers) }
      (self.head, body) = (head, ByteBuffer())
      return
    }
    let status = status ?? kind.status
    var head = FieldSection()
    head.append(.status, String(status))
    if case .page = form {
      body = FailurePage.html(title: kind.title, message: error.message, mayPass: (502...504).contains(status))
      head.append(.contentType, "text/html; charset=utf-8")
      head.append(name: "content-security-policy", value: FailurePage.policy)
      head.append(name: "cache-control", value: "no-store")
    } else {
      body = kind.problem(error, status: status)
      head.append(.contentType, "application/problem+json")
    }
    head.append(.contentLength, String(body.readableBytes))
    if let field = kind.proxyStatus(of: error, hop: hop) { head.append(.proxyStatus, field) }
    self.head = head
  }

  /// Returns the trailers that tell a gRPC client of the failure of its call.
  static func trailers(of error: BywayError, hop: String) -> FieldSection {
    var fields: FieldSection = [
      "grpc-status": "\(GRPCStatus.code(of: error.code))", "grpc-message": GRPCStatus.message(error.message),
    ]
    if let field = Kind(error.code).proxyStatus(of: error, hop: hop) { fields.append(.proxyStatus, field) }
    return fields
  }

  /// Returns the status of an error's code.
  package static func status(of error: BywayError) -> Int { Kind(error.code).status }

  /// The status, title and RFC 9209 §2.3 error type of each code.
  private struct Kind {
    let status: Int
    let title: String
    let proxyError: String?

    init(_ code: BywayError.Code, title given: String? = nil) {
      let usual: String
      (status, usual, proxyError) =
        switch code {
        case .linkUnavailable: (503, "The link is down", "destination_unavailable")
        case .linkLost: (502, "The link was lost", "connection_terminated")
        case .protocolViolation: (502, "The far end violated HTTP", "http_protocol_error")
        case .originUnavailable: (503, "The origin cannot be reached", "destination_unavailable")
        case .originUntrusted: (502, "The origin is not trusted", "tls_certificate_error")
        case .originLost: (502, "The origin gave no answer", "connection_terminated")
        case .incompleteResponse: (502, "The response was cut short", "http_response_incomplete")
        case .timedOut: (504, "No answer in time", "http_response_timeout")
        case .forbidden: (403, "This target is not allowed", "http_request_denied")
        case .misdirected: (421, "This host is not served here", "http_request_denied")
        case .unsupported: (501, "This protocol is not supported here", "http_upgrade_failed")
        case .refused: (503, "The far end refused the request", "connection_refused")
        case .tooLarge: (413, "The message is too large", "http_request_error")
        case .loopDetected: (508, "The request loops", "proxy_loop_detected")
        case .invalidRequest: (400, "The request cannot be forwarded", "http_request_error")
        case .pluginFailed: (502, "A plugin gave no answer", "proxy_internal_error")
        case .cancelled: (502, "The exchange was cancelled", "connection_terminated")
        default: (500, "The request failed here", "proxy_internal_error")
        }
      title = given ?? usual
    }

    /// Returns the problem document (RFC 9457).
    func problem(_ error: BywayError, status: Int) -> ByteBuffer {
      let document: JSON = [
        "type": "about:blank", "title": .string(title), "status": .number(status), "detail": .string(error.message),
        "code": .string("\(error.code)"), "cause": error.cause.map { .string(CauseText.of($0)) },
      ]
      return ByteBuffer(string: "\(document)\n")
    }

    func proxyStatus(of error: BywayError, hop: String) -> String? {
      proxyError.map { "\(hop); error=\($0); details=\"\(Self.quotable(error.message))\"" }
    }

    /// Returns the text for a structured field's string (RFC 9651 §3.3.3): printable ASCII, quotes escaped.
    private static func quotable(_ text: String) -> String {
      var result = ""
      for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": result += "\\\(scalar)"
        case " "..."~": result.unicodeScalars.append(scalar)
        default: result += "?"
        }
      }
      return result
    }
  }
}
