import Byway
import NIOCore

/// The list of devices as server-sent events (HTML, §9.2): once at the beginning, and again when something in it has changed.
struct DeviceEvents: AsyncSequence, Sendable {
  /// How often somebody who watches is told, at most.
  private static let pause = Duration.seconds(1)
  /// After so many pauses without news a comment shows that the connection lives, and finds out where it does not.
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
    /// Held as long as somebody reads.
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
