import Byway
import HTTPTypes
import NIOCore

/// The request that opens a WebSocket, and the checks of its response (RFC 6455 §4.1, RFC 8441 §5).
struct WebSocketOpening {
  var request: Request
  private let url: String
  private let protocols: [String]

  init(url: String, protocols: [String], fields: HTTPFields) throws {
    self.url = url
    self.protocols = protocols
    request = try Request(.connect, url: url)
    switch request.head.scheme {
    case "ws": request.head.scheme = "http"
    case "wss": request.head.scheme = "https"
    case "http", "https": break
    default:
      throw BywayError(
        .invalidRequest, "\"\(url)\" is not a WebSocket address: write ws:// or wss://.", processing: .none)
    }
    request.head.extendedConnectProtocol = "websocket"
    request.head.headerFields = fields
    request.head.headerFields[.secWebSocketVersion] = "13"
    if !protocols.isEmpty { request.head.headerFields[.secWebSocketProtocol] = protocols.joined(separator: ", ") }
  }

  /// - Returns: the subprotocol that the server chose.
  /// - Throws: `BywayError` if the response does not open a WebSocket.
  func subprotocol(in response: Response) throws(BywayError) -> String? {
    guard response.status == .ok else {
      throw BywayError(
        .refused, "\(url) opened no WebSocket: the server answered \(response.status.code) without an upgrade.",
        processing: .none)
    }
    guard response.fields[.secWebSocketExtensions] == nil else {
      throw BywayError(.protocolViolation, "\(url) uses an extension that was not requested.")
    }
    let chosen = response.fields[.secWebSocketProtocol]
    if let chosen, !protocols.contains(chosen) {
      throw BywayError(.protocolViolation, "\(url) speaks a protocol that was not requested.")
    }
    return chosen
  }
}
