public import HTTPTypes

/// A response: its head, and a body that streams.
///
/// Dropping the body before its end cancels the exchange, so that the far end stops sending.
public struct Response: Sendable {
  public var head: HTTPResponse
  public var body: Body

  public init(_ head: HTTPResponse, body: Body = .empty) {
    self.head = head
    self.body = body
  }

  public init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: Body = .empty) {
    self.init(HTTPResponse(status: status, headerFields: fields), body: body)
  }

  public var status: HTTPResponse.Status { head.status }
  public var fields: HTTPFields { head.headerFields }
}
