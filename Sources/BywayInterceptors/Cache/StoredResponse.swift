package import HTTPTypes
import HTTPWire
import Primitives

/// The head of a response in a cache, and what of its request it depends on.
package struct StoredResponse: Equatable, Sendable {
  /// Tells the responses of one cache apart.
  package var id: UInt64
  /// What was asked for: ``CacheKey``.
  var key: String
  var status: Int
  package var fields: HTTPFields
  /// What the request said in the fields that `Vary` names: one entry for each, `nil` where it had none.
  var selecting: [String: String?]
  var requested: WallTime
  var received: WallTime
  /// Of the body.
  var length: Int

  init(
    id: UInt64, key: String, status: Int, fields: HTTPFields, selecting: [String: String?], requested: WallTime,
    received: WallTime, length: Int
  ) {
    self.id = id
    self.key = key
    self.status = status
    self.fields = fields
    self.selecting = selecting
    self.requested = requested
    self.received = received
    self.length = length
  }

  /// A response that is about to be stored; how long its body is will be seen.
  init(
    id: UInt64, key: String, _ response: HTTPResponse, to request: HTTPRequest, by rules: CacheRules,
    requested: WallTime, received: WallTime
  ) {
    self.init(
      id: id, key: key, status: response.status.code, fields: rules.storedFields(response.headerFields),
      selecting: Self.selecting(request.headerFields, vary: response.headerFields) ?? [:], requested: requested,
      received: received, length: 0)
  }

  /// Whether it was stored for a request that says the same in the fields that count (RFC 9111 §4.1).
  func isSelected(by request: HTTPFields) -> Bool {
    selecting.allSatisfy { Self.normal(request, $0.key) == $0.value }
  }

  /// What a response depends on; `nil` where it fits no other request.
  static func selecting(_ request: HTTPFields, vary response: HTTPFields) -> [String: String?]? {
    var result: [String: String?] = [:]
    for name in response[values: .vary].flatMap({ ListMembers($0) }) {
      guard name != "*" else { return nil }
      result.updateValue(normal(request, name.lowercased()), forKey: name.lowercased())
    }
    return result
  }

  /// Lines joined, white space around commas gone: spellings that mean the same for any field.
  private static func normal(_ fields: HTTPFields, _ name: String) -> String? {
    guard let name = HTTPField.Name(name), fields.contains(name) else { return nil }
    return fields[values: name].flatMap { ListMembers($0) }.joined(separator: ",")
  }
}
