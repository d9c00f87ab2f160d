package import Byway
package import BywayHTTPWire

/// The hosts of all devices of one table, at present. They change with the configuration, while links stay open; cookies are kept apart by
/// them.
///
/// `@unchecked Sendable`: used on the table's event loop only.
package final class Siblings: SiblingRules, @unchecked Sendable {
  /// `nil` if there is only one device, which has no name.
  var hosts: DeviceHosts?

  package init(_ hosts: DeviceHosts? = nil) {
    self.hosts = hosts
  }

  package func keepApart(_ fields: inout FieldSection, of request: ExchangeHead) {
    hosts?.keepApart(&fields, of: request)
  }
}
