import BywayInterceptors
import HTTPTypes

extension HTTPField.Name {
  /// The token that ties a request at the next hop to the exchange that it continues.
  static let exchange = known("byway-exchange")
  /// The address of the next hop.
  static let next = known("byway-next")
}
