/// The hosts of all devices of one table, as they are now: what keeps their cookies apart changes with the configuration, and links
/// stay open over that.
///
/// `@unchecked Sendable`: touched on the table's event loop only.
package final class Siblings: @unchecked Sendable {
  /// `nil` where there is only one device, which has no name.
  var hosts: DeviceHosts?

  package init(_ hosts: DeviceHosts? = nil) {
    self.hosts = hosts
  }
}
