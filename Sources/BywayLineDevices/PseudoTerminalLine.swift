import BywayLibC
public import BywayLineEmulation
import BywayPrimitives
import Synchronization

/// A serial line between two pseudo-terminals, at the rate and with the faults of a real one: for programs that open a
/// device.
///
///     let line = try PseudoTerminalLine(LineConfiguration(faults: [BitFlips(rate: 1e-5)]), paths: ("/tmp/a", "/tmp/b"))
///     defer { line.close() }
///     print("seed", line.seed)
///
/// The devices are in raw mode. Whatever baud rate a program sets on them, the line carries at its own, unless it follows them
/// (``Rates/ofPrograms``). A program may close its device and open it again;
/// what arrives meanwhile waits for it, as stale bytes do. Safe on any thread.
public final class PseudoTerminalLine: Sendable {
  /// An end of the line, `a` or `b`.
  public typealias End = VirtualLink.End

  /// An event of the devices, passed to the observer.
  public enum Event: Sendable {
    /// The device is gone, and its path with it.
    case hungUp(End)
    /// It is back.
    case opened(End, path: String)
    /// It should be back, but cannot yet; it is tried again.
    case failed(End, LineFailure)
  }

  /// The rates at which a line carries.
  public enum Rates: Sendable, Hashable {
    /// The one of its configuration, whatever programs set.
    case fixed
    /// The rates that programs set on the devices; that of the configuration until they do. If the ends have different rates, each reads
    /// other bytes than were sent, as a UART does.
    case ofPrograms
  }

  /// Gives the same decisions again, though not the same bytes if programs write at other times.
  public let seed: UInt64
  private let pump: LinePump
  private let thread: Mutex<pthread_t?>

  /// Makes both devices, and begins to carry bytes between them.
  /// - Parameters:
  ///   - configuration: of both directions, or of the one from a to b.
  ///   - back: of the one from b to a, where it differs.
  ///   - rates: whether the baud rates matter that programs set.
  ///   - seed: a random one by default.
  ///   - paths: of ends a and b. Symbolic links that appear here, and are removed when the line is closed.
  ///   - observer: called on the line's own thread.
  /// - Throws: `LineConfigurationError`, or ``LineFailure``.
  public init(
    _ configuration: LineConfiguration,
    back: LineConfiguration? = nil,
    rates: Rates = .fixed,
    seed: UInt64? = nil,
    paths: (a: String, b: String),
    observer: @escaping @Sendable (Event) -> Void = { _ in }
  ) throws {
    try configuration.check()
    try back?.check()
    guard paths.a != paths.b else { throw LineFailure("Both ends are called \(paths.a): name two paths.") }
    // Short, so that it can be typed.
    self.seed = seed ?? .random(in: 1..<1_000_000)
    let followsRates = rates == .ofPrograms
    let rate = followsRates ? configuration.baud : nil
    let a = try LineDevice(end: .a, path: paths.a, rate: rate)
    do {
      let b = try LineDevice(end: .b, path: paths.b, rate: rate)
      pump = try LinePump(
        link: VirtualLink(configuration, back: back, seed: self.seed), devices: [a, b],
        transmitLimits: [.a: configuration.transmitQueue, .b: (back ?? configuration).transmitQueue],
        followsRates: followsRates, observer: observer)
    } catch {
      a.close()
      throw error
    }
    thread = Mutex(nil)
    try start()
  }

  deinit {
    close()
  }

  /// Returns the path of an end's device, which may be absent during a cut.
  public func path(of end: End) -> String { pump.path(of: end) }

  /// Returns the counters of the direction that begins at this end.
  public func counters(from end: End) -> LineCounters { pump.counters(from: end) }

  /// Cuts the line until ``restore()``. Takes effect at once, but a program hears of it a moment later.
  ///
  /// - Parameters:
  ///   - kind: what becomes of the bytes.
  ///   - end: whose device is gone; `nil` for both.
  public func cut(_ kind: Cut.Kind, at end: End? = nil) { pump.cut(kind, at: end) }

  /// Ends every cut that has begun. A device that was gone is opened again, under another name after a `rename`.
  public func restore() { pump.restore() }

  /// Hangs up both devices, and removes their paths. Returns when that is done; later calls do nothing.
  public func close() {
    pump.close()
    guard let running = thread.withLock({ $0.take() }) else { return }
    if pthread_equal(running, pthread_self()) == 0 {
      pthread_join(running, nil)
    } else {
      // By its observer: it ends when that returns.
      pthread_detach(running)
    }
  }

  private func start() throws(LineFailure) {
    do throws(SystemError) {
      let started = try SystemThread.start { [pump] in pump.run() }
      thread.withLock { $0 = started }
    } catch {
      pump.closeDevices()
      throw LineFailure("Cannot start a thread: \(error).")
    }
  }
}
