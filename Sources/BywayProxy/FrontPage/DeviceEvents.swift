import Byway
import NIOCore

/// The list of devices as server-sent events (HTML, §9.2): once at the beginning, and after each change.
struct DeviceEvents: AsyncSequence, Sendable {
  /// The minimum time between two events.
  private static let pause = Duration.seconds(1)
  /// The number of pauses without an event after which a comment is sent, which also detects a dead connection.
  private static let silentPauses = 15

  private let devices: VisibleDevices
  private let visitor: Visitor
  private let place: DevicePlace
  private let seat: WatcherSeats.Seat

  init(_ devices: VisibleDevices, for visitor: Visitor, at place: DevicePlace, _ seat: WatcherSeats.Seat) {
    self.seat = seat
    self.devices = devices
    self.visitor = visitor
    self.place = place
  }

  func makeAsyncIterator() -> Iterator { Iterator(devices: devices, visitor: visitor, place: place, seat: seat) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let devices: VisibleDevices
    private let visitor: Visitor
    fileprivate let place: DevicePlace
    /// Held as long as the client reads.
    private let seat: WatcherSeats.Seat
    private var told: DeviceListing?

    fileprivate init(devices: VisibleDevices, visitor: Visitor, place: DevicePlace, seat: WatcherSeats.Seat) {
      self.seat = seat
      self.devices = devices
      self.visitor = visitor
      self.place = place
    }

    mutating func next() async throws -> ByteBuffer? {
      for _ in 0..<DeviceEvents.silentPauses {
        if told != nil { try await Task.sleep(for: DeviceEvents.pause) }
        if seat.isClosed { return nil }
        let listing = await DeviceListing(devices.entries(for: visitor), at: place)
        guard listing != told else { continue }
        told = listing
        return ByteBuffer(string: "data: \(listing.json)\n\n")
      }
      return ByteBuffer(string: ":\n\n")
    }
  }
}
