import BywayLineEmulation

@testable import BywayLineLayer

/// A dialer and a listener over an emulated line, in virtual time.
///
/// Each end sends the bytes of a ``Ledger``, which checks what the other end receives.
final class Simulation {
  final class End {
    let name: VirtualLink.End
    var layer: LineLayer
    /// The session that this end's owner was told of.
    var session: UInt32?
    /// Bytes that its owner wants to send in this session, and those that the layer has taken.
    var toSend = 0
    var taken = 0
    var received = 0
    var receivedAt: UInt64 = 0
    var finishes = false
    /// Reads only while this is true.
    var reads = true
    var unread = 0
    var hasLine = true
    /// Bytes that the line has not taken yet.
    var output: [UInt8] = []
    var events: [LineLayerEvent] = []
    /// Interruptions, and the times at which the owner was told that each began and ended.
    var interruptions: [(kind: Interruption, began: UInt64, ended: UInt64?)] = []

    init(_ layer: LineLayer, name: VirtualLink.End) {
      self.layer = layer
      self.name = name
    }

    func begin(_ session: UInt32?) {
      self.session = session
      toSend = 0
      taken = 0
      received = 0
      finishes = false
      unread = 0
    }
  }

  let dialer: End
  let listener: End
  let configuration: LineLayerConfiguration
  var link: VirtualLink
  var ledger = Ledger()
  /// Whether the dialer begins another session when one is over.
  var opensAgain = false
  private var incarnation: UInt32
  private var random: SplitMix64
  /// How often in a row an end has asked to be called at once, with nothing to do.
  private var idleWakeUps = 0

  init(
    _ line: LineConfiguration, back: LineConfiguration? = nil, configuration: LineLayerConfiguration? = nil,
    seed: UInt64
  ) {
    var paced = LineLayerConfiguration()
    paced.bytesPerSecond = line.baud / line.bitsPerCharacter
    self.configuration = configuration ?? paced
    link = VirtualLink(line, back: back, seed: seed)
    random = SplitMix64(seed: seed).stream(named: "simulation")
    incarnation = UInt32(truncatingIfNeeded: random.next()) >> 1 + 1
    listener = End(LineLayer(.listener(incarnation: incarnation), configuration: self.configuration, at: 0), name: .b)
    dialer = End(LineLayer(.dialer, configuration: self.configuration, at: 0), name: .a)
  }

  var now: UInt64 { link.now }
  var ends: [End] { [dialer, listener] }

  /// An error that must never happen.
  var failure: String? {
    if let failure = ledger.failure { return "\(failure), \(Double(now) / 1e9) s" }
    if idleWakeUps > 10 { return "a deadline that does not go away" }
    return ends.contains { $0.layer.statistics.refusedFrames > 0 } ? "an honest end's frame was refused" : nil
  }

  // MARK: Actions of owners

  func open() {
    guard dialer.hasLine, !dialer.layer.hasSession else { return }
    dialer.layer.open(session: UInt32(truncatingIfNeeded: random.next()), at: now)
    takeEvents(dialer)
  }

  /// Restarts the program of an end.
  func restart(_ end: End) {
    if end === listener {
      ledger.listenerEnded(end.session)
      incarnation += 1
      end.layer = LineLayer(.listener(incarnation: incarnation), configuration: configuration, at: now)
    } else {
      end.layer = LineLayer(.dialer, configuration: configuration, at: now)
    }
    if !end.hasLine { end.layer.lineLost(at: now) }
    end.output = []
    end.begin(nil)
  }

  func finish(_ end: End) {
    end.finishes = end.session != nil
  }

  func abort(_ end: End) {
    end.layer.abort(at: now)
    takeEvents(end)
  }

  // MARK: Time

  /// Runs until `condition` holds, or `limit` seconds of the line's time have passed.
  @discardableResult
  func run(atMost limit: Double = 600, until condition: () -> Bool = { false }) -> Bool {
    let end = now + UInt64(limit * 1e9)
    pump()
    while !condition() {
      guard now < end, failure == nil else { return false }
      var next = end
      for end in ends {
        // If the line accepts no bytes, wait for it, whatever timers have expired.
        let earliest = end.output.isEmpty ? now : now + 2_000_000
        if let deadline = end.layer.nextDeadline {
          if deadline < earliest, end.output.isEmpty { idleWakeUps += 1 }
          next = min(next, max(deadline, earliest))
        }
        if !end.output.isEmpty { next = min(next, earliest) }
      }
      if opensAgain, dialer.hasLine, !dialer.layer.hasSession { next = now }
      if let event = link.nextEvent { next = min(next, event) }
      if next > now { idleWakeUps = 0 }
      link.advance(to: max(next, now + 1000))
      pump()
    }
    return true
  }

  private func pump() {
    for end in ends { noticeLine(end) }
    if opensAgain, !dialer.layer.hasSession { open() }
    for end in ends {
      end.layer.handleTimeout(at: now)
      takeEvents(end)
      receive(end)
    }
    for end in ends {
      transmit(end)
      takeEvents(end)
    }
  }

  private func noticeLine(_ end: End) {
    let hasLine = link.cut(from: end.name)?.closesDevice != true
    guard hasLine != end.hasLine else { return }
    end.hasLine = hasLine
    end.output = []
    if hasLine { end.layer.lineRestored(at: now) } else { end.layer.lineLost(at: now) }
  }

  /// Passes received bytes to an end in random pieces of at most one frame, so that the session of each event is known.
  private func receive(_ end: End) {
    var bytes = link.receive(at: end.name)[...]
    guard end.hasLine else { return }
    while let first = bytes.firstIndex(of: 0) ?? bytes.indices.last {
      var count = first - bytes.startIndex + 1
      if random.next() & 7 == 0 { count = Int(random.next() % UInt64(count)) + 1 }
      end.layer.receive(Array(bytes.prefix(count)), at: now)
      bytes = bytes.dropFirst(count)
      takeEvents(end)
    }
  }

  private func transmit(_ end: End) {
    while end.hasLine {
      if !end.output.isEmpty {
        end.output.removeFirst(link.send(end.output, from: end.name))
        if !end.output.isEmpty { return }
      }
      provide(end)
      guard end.layer.nextTransmit(at: now, into: &end.output) else { return }
    }
  }

  /// Gives the layer data before it is asked for a frame, so that acknowledgements can go in DATA frames.
  private func provide(_ end: End) {
    guard let session = end.session else { return }
    let room = min(end.layer.room(at: now), end.toSend - end.taken)
    if room > 0 {
      end.layer.send(ledger.take(room, session, from: end.name))
      end.taken += room
    }
    if end.finishes, end.taken == end.toSend {
      end.finishes = false
      end.layer.finish()
    }
  }

  private func takeEvents(_ end: End) {
    if end.reads, end.unread > 0 {
      end.layer.consumed(end.unread, at: now)
      end.unread = 0
    }
    while let event = end.layer.nextEvent() {
      switch event {
      case .received(let bytes):
        ledger.received(bytes, end.session, at: end.name)
        end.received += bytes.count
        end.receivedAt = now
        if end.reads { end.layer.consumed(bytes.count, at: now) } else { end.unread += bytes.count }
        continue
      case .ready:
        end.begin(end.layer.session?.id.session)
        if end === listener { ledger.listenerBegan(end.session, incarnation: incarnation) }
      case .finished: ledger.finished(end.session, at: end.name)
      case .ended(let reason):
        ledger.ended(end.session, at: end.name, reason)
        end.begin(nil)
      case .interrupted(let kind):
        end.interruptions.append((kind, now, nil))
        continue
      case .resumed:
        end.interruptions[end.interruptions.count - 1].ended = now
        continue
      case .confirmed, .passed: break
      }
      end.events.append(event)
    }
  }
}
