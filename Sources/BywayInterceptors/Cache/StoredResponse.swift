import BywayHTTPWire
import BywayPrimitives
package import HTTPTypes

/// The head of a response in a cache, and the fields of its request on which it depends.
package struct StoredResponse: Equatable, Sendable {
  /// The number of the response within its cache.
  package var id: UInt64
  /// The key of what was requested: ``CacheKey``.
  var key: String
  var status: Int
  package var fields: HTTPFields
  /// The request's values of the fields that `Vary` names; `nil` for a field that the request did not have.
  var selecting: [String: String?]
  var requested: WallTime
  var received: WallTime
  /// The length of the body.
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

  /// Whether a request has the same values in the fields that count (RFC 9111 §4.1).
  func isSelected(by request: HTTPFields) -> Bool {
    selecting.allSatisfy { Self.normal(request, $0.key) == $0.value }
  }

  /// Returns the fields on which a response depends; `nil` if it matches no other request.
  static func selecting(_ request: HTTPFields, vary response: HTTPFields) -> [String: String?]? {
    var result: [String: String?] = [:]
    for name in response[values: .vary].flatMap({ ListMembers($0) }) {
      guard name != "*" else { return nil }
      result.updateValue(normal(request, name.lowercased()), forKey: name.lowercased())
    }
    return result
  }

  /// Returns a field in normal form: lines joined, white space around commas removed. Such spellings mean the same for any field.
  private static func normal(_ fields: HTTPFields, _ name: String) -> String? {
    guard let name = HTTPField.Name(name), fields.contains(name) else { return nil }
    return fields[values: name].flatMap { ListMembers($0) }.joined(separator: ",")
  }
}
