import HTTPTypes

extension HTTPField.Name {
  private static func known(_ name: StaticString) -> HTTPField.Name {
    HTTPField.Name("\(name)") ?? .contentType
  }

  /// The token that ties a request at the next hop to the exchange that it continues.
  static let exchange = known("byway-exchange")
  /// The address of the next hop.
  static let next = known("byway-next")
  /// A proxy's mark of a request that came in absolute form.
  static let targetForm = known("byway-target-form")
}
