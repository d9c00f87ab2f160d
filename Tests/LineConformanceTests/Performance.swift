import BywayLineConformance

@testable import BywayLineLayer

typealias Role = Script.Role

/// The tester and an end under test, in virtual time.
struct Performance {
  /// A bug: a change of what the end sends or receives.
  struct Mutation: Sendable {
    var name: String
    /// Frames of the end, and how much later they come.
    var sent: @Sendable (Frame) -> [Frame] = { [$0] }
    var received: @Sendable (Frame) -> [Frame] = { [$0] }
    var delay: UInt64 = 0
    /// Whether it sends no zero before a frame.
    var forgetsZeros = false
    /// Whether it accepts frames whose check fails.
    var forgivesChecks = false
    var dropsRepeatedOpen = false
    var ignoresLaterHello = false
    var saysOpenOnce = false
    var configuration = LineLayerConfiguration.defaults
  }

  private(set) var lines: [String] = []
  private(set) var time: UInt64 = 0
  private var end: VirtualEnd
  private var tester: Conformance
  private let mutation: Mutation?
  private var opened: SessionID?
  private var isCut = false
  /// Bytes on their way from the end to the tester.
  private var under: [(at: UInt64, bytes: [UInt8])] = []
  /// The virtual time, which begins at one second.
  private var now: UInt64 = 1_000_000_000

  init(_ catalogue: Catalogue, _ options: Conformance.Options, owner: VirtualEnd.Owner, mutation: Mutation? = nil) {
    var configuration = mutation?.configuration ?? .defaults
    // As small as it may be, so that it can be filled.
    if owner == .obedient {
      configuration.window = 4096
      configuration.largestPayload = 2048
    }
    end = VirtualEnd(options.role, owner: owner, configuration: configuration, at: now)
    tester = Conformance(catalogue, options, at: now)
    self.mutation = mutation
    run()
  }

  var failures: [String] { lines.filter { $0.hasPrefix("not ok") || $0.hasPrefix("Bail out") } }
  var hasPassed: Bool { tester.hasPassed }

  private mutating func run() {
    let start = now
    var turns = 0
    while !tester.isOver, turns < 2_000_000 {
      turns += 1
      while follow() || transmit() || deliver() {}
      guard let next = [tester.nextDeadline, end.layer.nextDeadline, under.first?.at].compactMap(\.self).min() else {
        break
      }
      now = max(now, next)
      end.layer.handleTimeout(at: now)
      end.act(at: now)
      tester.handleTimeout(at: now)
    }
    while follow() {}
    time = now - start
  }

  /// Carries out the next order of the tester.
  private mutating func follow() -> Bool {
    guard let order = tester.nextOrder() else { return false }
    switch order {
    case .print(let line): lines.append(line)
    case .send(let bytes): if !isCut { receive(bytes) }
    case .cut:
      isCut = true
      under = []
      end.layer.lineLost(at: now)
    case .restore:
      if isCut { end.layer.lineRestored(at: now) }
      isCut = false
    case .start:
      under = []
      end.restart(at: now)
    case .owner(let order): end.obey(order, at: now)
    }
    return true
  }

  private mutating func receive(_ bytes: [UInt8]) {
    guard let mutation, !hasCorrection(bytes) else {
      end.layer.receive(bytes, at: now)
      end.act(at: now)
      return
    }
    for run in bytes.split(separator: 0) {
      var decoded = Array(run)
      if mutation.forgivesChecks, let frame = Self.anyFrame(Array(run)) {
        send(frame)
      } else if let frame = FrameCodec.decode(&decoded, seal: end.layer.session?.id) {
        if ignores(frame, mutation) { continue }
        for changed in mutation.received(frame) { send(changed) }
      } else {
        end.layer.receive([0] + run + [0], at: now)
      }
      end.act(at: now)
    }
  }

  private func hasCorrection(_ bytes: [UInt8]) -> Bool {
    guard let id = end.layer.session?.id else { return false }
    let mark = CorrectableFrame.syncBytes(of: id)
    return bytes.indices.contains { bytes[$0...].starts(with: mark) }
  }

  /// Whether a bug that depends on earlier frames makes the end ignore this one.
  private func ignores(_ frame: Frame, _ mutation: Mutation) -> Bool {
    switch frame {
    case .open(_, let id, _, _, _, _): mutation.dropsRepeatedOpen && id == end.layer.session?.id
    case .hello: mutation.ignoresLaterHello && end.layer.session?.isReady == true
    default: false
    }
  }

  private mutating func isRepeatedOpen(_ frame: Frame) -> Bool {
    guard case .open(_, let id, _, _, _, _) = frame else { return false }
    defer { opened = id }
    return opened == id
  }

  private mutating func send(_ frame: Frame) {
    end.layer.receive([0] + Self.bytes(frame, end.layer.session?.id), at: now)
  }

  private mutating func transmit() -> Bool {
    var bytes: [UInt8] = []
    let seal = end.layer.session?.id
    guard end.layer.nextTransmit(at: now, into: &bytes) else { return false }
    end.act(at: now)
    guard !isCut else { return true }
    var output = bytes
    if let mutation {
      var run = Array(bytes.split(separator: 0).first ?? [])
      let zero: [UInt8] = bytes.first == 0 && !mutation.forgetsZeros ? [0] : []
      if let frame = FrameCodec.decode(&run, seal: seal) {
        let isKept = mutation.saysOpenOnce && isRepeatedOpen(frame)
        output = isKept ? [] : mutation.sent(frame).flatMap { zero + Self.bytes($0, seal) }
      }
    }
    under.append((now + (mutation?.delay ?? 0), output))
    return true
  }

  private mutating func deliver() -> Bool {
    guard let first = under.first, first.at <= now else { return false }
    under.removeFirst()
    tester.receive(first.bytes, at: now)
    return true
  }

  static func bytes(_ frame: Frame, _ seal: SessionID?) -> [UInt8] {
    var scratch: [UInt8] = []
    var output: [UInt8] = []
    FrameCodec.encode(frame, seal: seal, scratch: &scratch, into: &output)
    return output
  }

  /// Returns a frame whether or not its check holds for the session.
  private static func anyFrame(_ run: [UInt8]) -> Frame? {
    var body = run
    guard COBS.decode(&body), body.count > 4 else { return nil }
    var check = CRC32C()
    check.update(Array(body.dropLast(4)))
    var wire: [UInt8] = []
    let value = check.value
    COBS.encode(body.dropLast(4) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }, into: &wire)
    wire.removeLast()
    // Sealed with eight zeros that are not there: only plain frames come out of this.
    return FrameCodec.decode(&wire, seal: nil)
  }
}
