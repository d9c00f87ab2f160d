import Byway
import NIOCore

/// The list of devices as server-sent events (HTML, §9.2): once at the beginning, and after each change.
struct DeviceEvents: AsyncSequence, Sendable {
  /// The minimum time between two events.
  private static let pause = Duration.seconds(1)
  /// The number of pauses without an event after which a comment is sent, which also detects a dead connection.
  private static let silentPauses = 15

  private let devices: VisibleDevices
  private let user: RequestUser
  private let place: DevicePlace
  private let slot: WatcherSlots.Slot

  init(_ devices: VisibleDevices, for user: RequestUser, at place: DevicePlace, _ slot: WatcherSlots.Slot) {
    self.slot = slot
    self.devices = devices
    self.user = user
    self.place = place
  }

  func makeAsyncIterator() -> Iterator { Iterator(devices: devices, user: user, place: place, slot: slot) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let devices: VisibleDevices
    private let user: RequestUser
    fileprivate let place: DevicePlace
    /// Held as long as the client reads.
    private let slot: WatcherSlots.Slot
    private var told: DeviceListing?

    fileprivate init(devices: VisibleDevices, user: RequestUser, place: DevicePlace, slot: WatcherSlots.Slot) {
      self.slot = slot
      self.devices = devices
      self.user = user
      self.place = place
    }

    mutating func next() async throws -> ByteBuffer? {
      for _ in 0..<DeviceEvents.silentPauses {
        if told != nil { try await Task.sleep(for: DeviceEvents.pause) }
        if slot.isClosed { return nil }
        let listing = await devices.listing(for: user, at: place)
        guard listing != told else { continue }
        told = listing
        return ByteBuffer(string: "data: \(listing.json)\n\n")
      }
      return ByteBuffer(string: ":\n\n")
    }
  }
}
