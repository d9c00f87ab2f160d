import Byway

/// The target of a request, according to its form and its authority.
enum ProxyTarget: Sendable, Hashable {
  /// This proxy, by one of its own names: means its default device, or the list of devices if it has none.
  case proxy
  case device(DeviceName)
  /// The list of devices, even if there is a default device.
  case frontPage
  /// A server that the default device's gateway may reach: absolute form, and CONNECT.
  case elsewhere
}
