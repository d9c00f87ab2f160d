import Foundation
import FoundationNetworking
import HTTPTypes
import HTTPWire

extension HTTPURLResponse {
  convenience init?(_ head: HTTPResponse, from url: URL?) {
    guard let url else { return nil }
    var fields: [String: String] = [:]
    for field in head.headerFields {
      let name = Self.usual(field.name.rawName)
      fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
    }
    if head.status == .unauthorized {
      // Foundation would answer a Basic challenge over its own network, past the link; it does not recognize one that
      // begins with a space. Who could answer it has been asked.
      for (name, value) in fields where name.lowercased() == "www-authenticate" { fields[name] = " " + value }
    }
    self.init(url: url, statusCode: head.status.code, httpVersion: "HTTP/2", headerFields: fields)
  }

  /// HTTP/2 carries names in lower case. Foundation capitalizes all but those that begin with `x-`.
  private static func usual(_ name: String) -> String {
    name.hasPrefix("x-") ? FieldCapitalization.usual(name) : name
  }
}
