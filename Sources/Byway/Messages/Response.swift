public import HTTPTypes

/// A response: its head, and a streaming body.
///
/// Dropping the body before its end cancels the exchange, so that the remote end stops sending.
public struct Response: Sendable {
  /// Status and fields.
  public var head: HTTPResponse
  /// The content. Pulled: the sender is slowed to the pace of the reader.
  public var body: Body

  /// Creates a response with any head.
  public init(_ head: HTTPResponse, body: Body = .empty) {
    self.head = head
    self.body = body
  }

  /// Creates a response with a status and some fields.
  public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .empty) {
    self.init(HTTPResponse(status: status, headerFields: fields), body: body)
  }

  /// The head's status.
  public var status: HTTPResponse.Status { head.status }
  /// The head's fields.
  public var fields: HTTPFields { head.headerFields }
}
