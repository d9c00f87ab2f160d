import Byway
import BywayDevices
import NIOCore

/// The devices, filtered by what a user may see.
struct VisibleDevices: Sendable {
  /// Called on the event loop.
  typealias Filter = @Sendable (RequestUser) -> (DeviceName?) -> Bool

  private let devices: DeviceTable
  private let filter: Filter
  private let firstSteps: @Sendable () -> FirstSteps?
  private let hubs: @Sendable () async -> [HubReport]
  private let titles: ClaimedTitles

  /// - Parameters:
  ///   - filter: applies the rules in force; called on the devices' event loop.
  ///   - firstSteps: returns what to say while there are no devices.
  ///   - hubs: returns the hubs that readers may know.
  init(
    _ devices: DeviceTable, _ filter: @escaping Filter, _ firstSteps: @escaping @Sendable () -> FirstSteps?,
    hubs: @escaping @Sendable () async -> [HubReport]
  ) {
    self.hubs = hubs
    self.devices = devices
    self.filter = filter
    self.firstSteps = firstSteps
    titles = ClaimedTitles(devices)
  }

  var eventLoop: any EventLoop { devices.eventLoop }

  /// Returns the list of the devices that the user may see. Safe on any thread.
  func listing(for user: RequestUser, at place: DevicePlace) async -> DeviceListing {
    let entries = await titles.complete(visible(to: user))
    let hubs = await hubs()
    guard entries.isEmpty, let firstSteps = firstSteps() else { return DeviceListing(entries, hubs: hubs, at: place) }
    let patterns = try? await eventLoop.submit { [devices] in devices.directory.patterns.map(\.text) }.get()
    return DeviceListing(
      entries, hubs: hubs, at: place,
      beginning: Beginning(firstSteps, patterns: patterns ?? [], ports: await firstSteps.ports?.look.ports(), at: place)
    )
  }

  private func visible(to user: RequestUser) async -> [DeviceEntry] {
    let entries = await devices.entries()
    let visible = try? await eventLoop.submit {
      let isVisible = filter(user)
      return entries.filter { isVisible($0.name) }
    }.get()
    return visible ?? []
  }

  func suffixes() async -> [String] { await devices.suffixes() }
}
