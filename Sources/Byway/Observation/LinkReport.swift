import BywayLineLayer

/// The state of the link to a device: ``BywayClient/links()``, ``BywayClient/linkChanges(lookingEvery:)``, and the same of a `Proxy`.
///
/// A snapshot.
public struct LinkReport: Sendable, Hashable {
  /// `nil`: the default device.
  public let device: DeviceName?
  /// Its addresses without their options, the best one first.
  public let addresses: [String]
  /// The state of the link.
  public let state: LinkState
  /// Why it is interrupted or down.
  public let reason: String?
  /// Exchanges that wait for a connection.
  public let waiting: Int
  /// `nil` if it has no line of its own, or is not open.
  public let line: Line?

  /// The counters of a serial line since it was opened. They only grow; bytes are those on the wire.
  public struct Line: Sendable, Hashable {
    /// All bytes that this end has sent, including repetitions.
    public let sentBytes: UInt64
    /// All bytes received, including damaged and foreign ones.
    public let receivedBytes: UInt64
    /// Frames that this end has sent.
    public let sentFrames: UInt64
    /// Frames among them that were sent again.
    public let repeatedFrames: UInt64
    /// Frames that arrived intact, or could be corrected.
    public let receivedFrames: UInt64
    /// Runs of bytes that were not a frame.
    public let damagedFrames: UInt64
    /// Bytes that arrived wrong and were corrected.
    public let correctedBytes: UInt64
    /// Bytes from other sources: a boot log, noise.
    public let foreignBytes: UInt64
    /// How often a session was resumed after its line was lost.
    public let resumes: UInt64
    /// The round trip without the time on the wire; `nil` until measured.
    public let roundTrip: Duration?
    /// The estimated rate of the line; `nil` if it is not paced.
    public let bytesPerSecond: Int?
  }
}

extension LinkReport {
  package init(_ device: DeviceName?, addresses: [LinkAddress], isInbound: Bool, _ status: UpstreamStatus) {
    self.device = device
    self.addresses = addresses.map(\.publicName)
    state = LinkState(status.state, isInbound: isInbound)
    reason = state == .waiting ? nil : status.state.reason
    waiting = status.waiting
    line = status.line.map(Line.init)
  }
}

extension LinkReport.Line {
  fileprivate init(_ line: LineStatistics) {
    sentBytes = line.sentBytes
    receivedBytes = line.receivedBytes
    sentFrames = line.sentFrames
    repeatedFrames = line.repeatedFrames
    receivedFrames = line.receivedFrames
    damagedFrames = line.damagedFrames
    correctedBytes = line.correctedBytes
    foreignBytes = line.foreignBytes
    resumes = line.resumes
    roundTrip = line.roundTrip.map { .nanoseconds(Int64(clamping: $0)) }
    bytesPerSecond = line.rate
  }
}

/// The links of a client or a proxy, at first and after each change: ``BywayClient/linkChanges(lookingEvery:)``.
///
/// It polls only while the next element is awaited, buffers nothing for slow readers, and ends when its reader is cancelled.
public struct LinkChanges: AsyncSequence, Sendable {
  private let pause: Duration
  private let look: @Sendable () async -> [LinkReport]

  package init(every pause: Duration, _ look: @escaping @Sendable () async -> [LinkReport]) {
    self.pause = pause
    self.look = look
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(changes: self) }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let changes: LinkChanges
    private var last: [LinkReport]?

    fileprivate init(changes: LinkChanges) {
      self.changes = changes
    }

    /// Returns the next change; `nil` after the task is cancelled.
    public mutating func next() async -> [LinkReport]? {
      while !Task.isCancelled {
        if last != nil { try? await Task.sleep(for: changes.pause) }
        if Task.isCancelled { break }
        let reports = await changes.look()
        if reports != last {
          last = reports
          return reports
        }
      }
      return nil
    }
  }
}
