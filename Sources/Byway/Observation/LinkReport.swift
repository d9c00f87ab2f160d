import LineLayer
public import NIOCore

/// How the link to a device is: ``BywayClient/links()``, ``BywayClient/linkChanges(lookingEvery:)``, and the same of a `Proxy`.
///
/// A value that was true when it was made.
public struct LinkReport: Sendable, Hashable {
  /// `nil`: the default device.
  public let device: DeviceName?
  /// Its addresses without their options, the better one first.
  public let addresses: [String]
  /// Whether a request would be carried now.
  public let state: LinkState
  /// Why it is interrupted or down.
  public let reason: String?
  /// Exchanges that wait for a connection.
  public let waiting: Int
  /// `nil` where it has no line of its own, or none now.
  public let line: Line?

  /// What a serial line has done since it was opened. Counters only grow; bytes are those on the wire.
  public struct Line: Sendable, Hashable {
    /// All that this end has put on the wire, repetitions too.
    public let sentBytes: UInt64
    /// All that has come from the wire, damaged and foreign bytes too.
    public let receivedBytes: UInt64
    /// Frames that this end has put on the wire.
    public let sentFrames: UInt64
    /// Of those, sent again.
    public let repeatedFrames: UInt64
    /// Frames that arrived whole, or could be corrected.
    public let receivedFrames: UInt64
    /// Runs of bytes that were not a frame.
    public let damagedFrames: UInt64
    /// Bytes that arrived wrong and were put right.
    public let correctedBytes: UInt64
    /// Bytes of somebody else: a boot log, noise.
    public let foreignBytes: UInt64
    /// How often a session has gone on after its line had been lost.
    public let resumes: UInt64
    /// Without the time on the wire; `nil` until measured.
    public let roundTrip: TimeAmount?
    /// That the line seems to carry; `nil` where it is not paced.
    public let bytesPerSecond: Int?
  }
}

extension LinkReport {
  init(_ entry: DeviceEntry) {
    device = entry.name
    addresses = entry.addresses.map(\.publicName)
    state = LinkState(entry.status.state, isInbound: entry.isInbound)
    reason = state == .waiting ? nil : entry.status.state.reason
    waiting = entry.status.waiting
    line = entry.status.line.map(Line.init)
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

/// The links of a client or a proxy, at first and whenever they have changed: ``BywayClient/linkChanges(lookingEvery:)``.
///
/// It looks only while somebody waits for the next element, keeps nothing for who is slow, and ends when its reader is cancelled.
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

    /// `nil` once the task is cancelled.
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

extension DeviceTable {
  /// Any thread.
  package func linkReports() async -> [LinkReport] { await entries().map(LinkReport.init) }
}
