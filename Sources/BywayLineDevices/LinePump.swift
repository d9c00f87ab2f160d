import BywayLibC
import BywayLineEmulation
import BywayPrimitives
import Synchronization

/// The thread of a line, and what it shares with others: drives an emulated link by the clock, and moves bytes between
/// it and the devices.
///
/// Sendable because the devices are touched by that thread alone once it runs, and all else is behind the lock.
final class LinePump: @unchecked Sendable {
  private struct State {
    var link: VirtualLink
    var isClosed = false
    var paths: [VirtualLink.End: String]
    /// Bytes by receiving end that were taken from the line and not written yet, or were lost with the device.
    var unwritten: [VirtualLink.End: Int] = [:]
    var lost: [VirtualLink.End: Int] = [:]
  }

  /// While there is something to carry, it is carried this often: a longer time would be felt, a shorter one costs.
  private static let tick: UInt64 = 1_000_000
  private static let retryDelay: UInt64 = 100_000_000

  private let state: Mutex<State>
  private let devices: [LineDevice]
  private let transmitLimits: [VirtualLink.End: Int]
  private let followsRates: Bool
  private let observer: @Sendable (PseudoTerminalLine.Event) -> Void
  private let waker: Waker
  private let start = MonotonicClock.now

  init(
    link: VirtualLink,
    devices: [LineDevice],
    transmitLimits: [VirtualLink.End: Int],
    followsRates: Bool,
    observer: @escaping @Sendable (PseudoTerminalLine.Event) -> Void
  ) throws(LineFailure) {
    let paths = Dictionary(devices.map { ($0.end, $0.name.path) }, uniquingKeysWith: { $1 })
    state = Mutex(State(link: link, paths: paths))
    self.devices = devices
    self.transmitLimits = transmitLimits
    self.followsRates = followsRates
    self.observer = observer
    waker = try Waker()
  }

  func path(of end: VirtualLink.End) -> String {
    state.withLock { $0.paths[end] ?? "" }
  }

  func counters(from end: VirtualLink.End) -> LineCounters {
    state.withLock { state in
      var counters = state.link.counters(from: end)
      let lost = state.lost[end.other, default: 0]
      counters.delivered -= lost + state.unwritten[end.other, default: 0]
      counters.dropped += lost
      return counters
    }
  }

  func cut(_ kind: Cut.Kind, at affected: VirtualLink.End?) {
    state.withLock { state in
      state.link.advance(to: now)
      state.link.cut(kind, at: affected)
    }
    waker.wake()
  }

  func restore() {
    state.withLock { state in
      state.link.advance(to: now)
      state.link.restore()
    }
    waker.wake()
  }

  func close() {
    state.withLock { $0.isClosed = true }
    waker.wake()
  }

  /// The thread itself: returns when the line is closed. The others may be called from anywhere.
  func run() {
    while let wait = turn() {
      for event in wait.events { observer(event) }
      let now = now
      waker.wait(for: devices.map(\.interest), atMost: wait.deadline.map { max($0, now) - now })
    }
    closeDevices()
  }

  /// Closes the devices if the thread could not be started.
  func closeDevices() {
    for device in devices { device.close() }
  }

  private struct Wait {
    var events: [PseudoTerminalLine.Event] = []
    var deadline: UInt64?
  }

  /// Does what is due, and tells until when nothing is; `nil` when closed.
  private func turn() -> Wait? {
    state.withLock { state in
      if state.isClosed { return nil }
      var wait = Wait()
      let now = now
      state.link.advance(to: now)
      // Before their bytes, which were written at these rates.
      if followsRates, let a = devices.first?.rates, let b = devices.last?.rates { state.link.setRates(a, b) }
      for device in devices {
        follow(device, &state, &wait, now)
        device.readInput(into: &state.link, limit: transmitLimits[device.end, default: 1])
        device.writeOutput(from: &state.link)
        state.unwritten[device.end] = device.unwrittenCount
      }
      let deadlines = devices.flatMap { [$0.retry, deadline(from: $0, state.link, now)] } + [state.link.nextCutChange]
      wait.deadline = deadlines.compactMap(\.self).min()
      return wait
    }
  }

  /// Opens and closes a device as the cuts want it.
  private func follow(_ device: LineDevice, _ state: inout State, _ wait: inout Wait, _ now: UInt64) {
    let end = device.end
    if let lost = device.follow(state.link[from: end]) {
      state.lost[end, default: 0] += lost
      wait.events.append(.hungUp(end))
    }
    let isGone = state.link.cut(from: end)?.closesDevice ?? false
    guard !isGone, !device.isOpen, now >= device.retry ?? 0 else { return }
    do {
      try device.open()
      state.paths[end] = device.name.path
      wait.events.append(.opened(end, path: device.name.path))
    } catch {
      if device.retry == nil { wait.events.append(.failed(end, error)) }
      device.retry(at: now + Self.retryDelay)
    }
  }

  /// When the direction from this device next needs a look.
  private func deadline(from device: LineDevice, _ link: VirtualLink, _ now: UInt64) -> UInt64? {
    let line = link[from: device.end]
    let isBlocked = devices.contains { $0.end != device.end && $0.isBlocked }
    let next = isBlocked ? line.nextTransmission : line.nextArrival
    let bytes = next.map { max($0, min(now + Self.tick, line.lastArrival ?? .max)) }
    let half = transmitLimits[device.end, default: 1] / 2
    let room = device.isStopped ? line.nextRoom(for: half).map { max($0, now + Self.tick) } : nil
    return [bytes, room].compactMap(\.self).min()
  }

  /// Nanoseconds since the line began.
  private var now: UInt64 { MonotonicClock.now - start }
}
