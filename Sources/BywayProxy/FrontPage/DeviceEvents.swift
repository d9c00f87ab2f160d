import Byway
import NIOCore

/// The list of devices as server-sent events (HTML, §9.2): once at the beginning, and again when something in it has changed.
struct DeviceEvents: AsyncSequence, Sendable {
  /// How often somebody who watches is told, at most.
  private static let pause = Duration.seconds(1)
  /// After so many pauses without news a comment shows that the connection lives, and finds out where it does not.
  private static let silentPauses = 15

  private let devices: DeviceTable
  private let place: DevicePlace
  private let seat: WatcherSeats.Seat

  init(_ devices: DeviceTable, at place: DevicePlace, _ seat: WatcherSeats.Seat) {
    self.seat = seat
    self.devices = devices
    self.place = place
  }

  func makeAsyncIterator() -> Iterator { Iterator(devices: devices, place: place, seat: seat) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let devices: DeviceTable
    fileprivate let place: DevicePlace
    /// Held as long as somebody reads.
    private let seat: WatcherSeats.Seat
    private var told: DeviceListing?

    fileprivate init(devices: DeviceTable, place: DevicePlace, seat: WatcherSeats.Seat) {
      self.seat = seat
      self.devices = devices
      self.place = place
    }

    mutating func next() async throws -> ByteBuffer? {
      for _ in 0..<DeviceEvents.silentPauses {
        if told != nil { try await Task.sleep(for: DeviceEvents.pause) }
        let listing = await DeviceListing(devices.entries(), at: place)
        guard listing != told else { continue }
        told = listing
        return ByteBuffer(string: "data: \(listing.json)\n\n")
      }
      return ByteBuffer(string: ":\n\n")
    }
  }
}
