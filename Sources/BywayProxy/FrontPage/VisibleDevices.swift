import Byway
import BywayDevices
import NIOCore

/// The devices, filtered by what a user may see.
struct VisibleDevices: Sendable {
  /// Called on the event loop.
  typealias Filter = @Sendable (RequestUser) -> (DeviceName?) -> Bool

  private let devices: DeviceTable
  private let filter: Filter

  /// - Parameter filter: applies the rules in force; called on the devices' event loop.
  init(_ devices: DeviceTable, _ filter: @escaping Filter) {
    self.devices = devices
    self.filter = filter
  }

  var eventLoop: any EventLoop { devices.eventLoop }

  /// Returns the devices that the user may see. Safe on any thread.
  func entries(for user: RequestUser) async -> [DeviceEntry] {
    let entries = await devices.entries()
    let visible = try? await eventLoop.submit {
      let isVisible = filter(user)
      return entries.filter { isVisible($0.name) }
    }.get()
    return visible ?? []
  }

  func suffixes() async -> [String] { await devices.suffixes() }
}
