package import NIOCore

/// The refusal of a client by a listener, for reports.
package struct ClientRefusal: Sendable, Hashable {
  /// The IP address of the client; `nil` if the transport has no addresses.
  package let address: String?
  /// The names in its certificate, safe to display. Only the first ones, because they come from outside.
  package let names: [String]
  package var reason: String

  private static let mostNames = 5

  package init(of address: SocketAddress?, names: [String] = [], reason: String) {
    self.address = address?.ipAddress
    self.names = Array(names.prefix(Self.mostNames))
    self.reason = reason
  }
}
