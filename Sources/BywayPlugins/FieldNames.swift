import Byway
import BywayInterceptors
import HTTPTypes

extension HTTPField.Name {
  /// The token that ties a request at the next hop to the exchange that it continues.
  static let exchange = known("byway-exchange")
  /// The address of the next hop.
  static let next = known("byway-next")
  /// A remark of the plugin about a response, for the record of the exchange.
  static let note = known("byway-note")

  /// Whether the name is one of those that Byway's hops use among themselves.
  var isByways: Bool { canonicalName.hasPrefix("byway-") }
}
