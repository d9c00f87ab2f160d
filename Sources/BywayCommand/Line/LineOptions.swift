import ArgumentParser
import BywayLineEmulation
import BywayTerminal

/// The properties and the faults of a line.
struct LineOptions: ParsableArguments {
  /// The rate until programs set others.
  static let usualRate = 115_200

  @Option(
    help: .value(
      "rate",
      """
      Keep this rate, in bits per second, whatever rates programs set on the devices. Without it, the line has the rates that they set, \
      at first 115200. Programs with different rates read garbage then, as on a real line.
      """))
  var baud: Int?

  /// The rate that the line begins with.
  var rate: Int { baud ?? Self.usualRate }

  @Option(
    parsing: .unconditional,
    help: .value("share", "How far the transmitters' clocks are off, such as +2%."))
  var clock = Share(0)

  @Option(
    help: .value("bytes", "Bytes that a device buffers before a program has to wait: usually 4096 or 20480."))
  var queue = 4096

  @Option(
    help: .value("time", "Pass on what has arrived only this often, as an FTDI adapter does: 16ms."))
  var batch = Span(.zero)

  @Option(help: .value("share", "Share of bits that arrive flipped, such as 1e-5."))
  var bitErrors = Share(0)

  @Option(
    help: .value(
      "length/every@share",
      "Bit errors in bursts: 50/10000@0.1 has 50 bytes in a row, of 10,000, in which a tenth of the bits is wrong."))
  var bursts: BurstArgument?

  @Option(help: .value("share", "Share of bytes that never arrive, such as 0.1%."))
  var drop = Share(0)

  @Option(help: .value("share", "Share of bytes that arrive twice."))
  var duplicate = Share(0)

  @Option(help: .value("share", "Bytes that arrive without being sent, for each that is sent."))
  var insert = Share(0)

  @Option(help: .value("time", "How much later every byte arrives, such as 5ms."))
  var latency = Span(.zero)

  @Option(help: .value("time", "A random delay on top, up to this much for each byte."))
  var jitter = Span(.zero)

  @Option(help: .value("time", "How often a kernel log line appears on the same wire, such as 1s."))
  var logLineEvery = Span(.zero)

  @Option(
    help: .value("bytes", "Bytes per second that readers take; they lose the rest."))
  var slowReader: Int?

  @Option(help: .value("end", "Apply faults only to what this end sends: a or b."))
  var onlyFrom: LineEnd?

  @Option(
    help: ArgumentHelp(
      """
      Cut the line at a given time: hang-up@3s+5s cuts it after three seconds for five. Kinds: stall (bytes wait), lose (they are \
      lost), hang-up (the devices are gone), rename (they come back under other names). May be repeated.
      """,
      valueName: "kind@time[+length]"))
  var cut: [CutArgument] = []

  @Option(
    help: .value(
      "end",
      "The end whose device a hang-up takes away, a or b; what the other end sends during that time is lost. Both by default."
    ))
  var cutEnd: LineEnd?

  @Option(help: .value("number", "Repeat the decisions of an earlier run. Random by default."))
  var seed: UInt64?

  /// Whether the line has no faults.
  var isPlain: Bool {
    [clock, bitErrors, drop, duplicate, insert].allSatisfy { $0.value == 0 }
      && [batch, latency, jitter, logLineEvery].allSatisfy { $0.duration == .zero }
      && bursts == nil && slowReader == nil && onlyFrom == nil && cut.isEmpty && cutEnd == nil && seed == nil
  }

  /// Returns the configurations for the data that end a sends, and for the data that end b sends.
  /// - Throws: ``CommandFailure``.
  func configurations() throws(CommandFailure) -> (a: LineConfiguration, b: LineConfiguration) {
    let both = (a: configuration(from: .a), b: configuration(from: .b))
    do {
      try both.a.check()
      try both.b.check()
    } catch {
      throw CommandFailure(.usage, "The \(error.description)")
    }
    return both
  }

  private func configuration(from end: LineEnd) -> LineConfiguration {
    LineConfiguration(
      baud: rate, clockError: clock.value, transmitQueue: queue, batch: batch.duration,
      cuts: cut.map { Cut($0.cut.kind.seen(by: end.end, of: cutEnd?.end), at: $0.cut.start, for: $0.cut.length) },
      faults: onlyFrom.map { $0 == end } ?? true ? faults : [])
  }

  private var faults: [any LineFault] {
    var faults: [any LineFault] = [
      BitFlips(rate: bitErrors.value), DroppedBytes(rate: drop.value), DuplicatedBytes(rate: duplicate.value),
      InsertedBytes(rate: insert.value), ForeignLogLine(every: logLineEvery.duration),
      Latency(latency.duration, jitter: jitter.duration),
    ]
    if let bursts { faults.append(bursts.fault) }
    if let slowReader { faults.append(SlowReader(bytesPerSecond: slowReader)) }
    return faults
  }
}

/// An end of a line, as written on the command line.
enum LineEnd: String, ExpressibleByArgument, CaseIterable, Sendable {
  case a, b

  var end: VirtualLink.End { self == .a ? .a : .b }
}
