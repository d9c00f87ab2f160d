import BywayHTTPWire
import Foundation
import FoundationNetworking
import HTTPTypes

extension HTTPURLResponse {
  convenience init?(_ head: HTTPResponse, from url: URL?) {
    guard let url else { return nil }
    var fields: [String: String] = [:]
    for field in head.headerFields {
      let name = Self.usual(field.name.rawName)
      fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
    }
    if head.status == .unauthorized {
      // Foundation would answer a Basic challenge over its own network, bypassing the link. It does not recognize a challenge
      // with a leading space. The delegate has been asked by now.
      for (name, value) in fields where name.lowercased() == "www-authenticate" { fields[name] = " " + value }
    }
    self.init(url: url, statusCode: head.status.code, httpVersion: "HTTP/2", headerFields: fields)
  }

  /// Returns the usual spelling of a name. HTTP/2 uses lower case. Foundation capitalizes all names except those that start
  /// with `x-`.
  private static func usual(_ name: String) -> String {
    name.hasPrefix("x-") ? FieldCapitalization.usual(name) : name
  }
}
