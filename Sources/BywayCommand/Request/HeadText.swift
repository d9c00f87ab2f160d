import Byway
import HTTPTypes

/// Heads of messages as text.
enum HeadText {
  static func lines(of request: HTTPRequest, _ framing: Link.Framing) -> [String] {
    let start = "\(request.method.rawValue) \(request.path ?? "/") HTTP/\(framing.rawValue)"
    return [start] + (request.authority.map { ["host: \($0)"] } ?? []) + lines(of: request.headerFields)
  }

  static func lines(of response: HTTPResponse, _ framing: Link.Framing) -> [String] {
    ["HTTP/\(framing.rawValue) \(text(of: response.status))"] + lines(of: response.headerFields)
  }

  static func text(of status: HTTPResponse.Status) -> String {
    status.reasonPhrase.isEmpty ? "\(status.code)" : "\(status.code) \(status.reasonPhrase)"
  }

  private static func lines(of fields: HTTPFields) -> [String] {
    fields.map { "\($0.name.canonicalName): \($0.value)" }
  }
}
