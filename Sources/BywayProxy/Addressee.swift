import Byway

/// For whom a request is, as its form and its authority say.
enum Addressee: Sendable, Hashable {
  /// For this proxy by a name of its own: that means its default device, and where it has none the list of devices.
  case proxy
  case device(DeviceName)
  /// For the list of devices, whatever the default is.
  case frontPage
  /// For a server that the default device's gateway may reach: absolute form, and CONNECT.
  case elsewhere
}
