import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("A hostile peer")
struct HostilePeerTests {
  private static let id = SessionID(session: 5, incarnation: 7)

  private static func listener(_ change: (inout LineLayerConfiguration) -> Void = { _ in }) -> LineLayer {
    var configuration = LineLayerConfiguration.defaults
    change(&configuration)
    var layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
    layer.receive(.open(version: 1, session: id, largestPayload: 2048, window: 8192), at: 0)
    _ = layer.transmit(at: 0)
    _ = layer.takeEvents()
    return layer
  }

  private static func random(_ random: inout SplitMix64) -> Frame {
    func number(_ likely: ClosedRange<UInt16>) -> UInt16 {
      Bool.random(using: &random) ? .random(in: likely, using: &random) : .random(in: 0 ... .max, using: &random)
    }
    func bytes(_ limit: Int) -> [UInt8] {
      (0..<Int.random(in: 0...limit, using: &random)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
    }
    func runs(_ limit: Int) -> [UInt16] {
      (0..<Int.random(in: 0...limit, using: &random)).map { _ in max(number(1...3) & 0x7FFF, 1) }
    }
    let session = UInt32.random(in: 4...6, using: &random)
    let incarnation = UInt32.random(in: 6...8, using: &random)
    switch Int.random(in: 0...12, using: &random) {
    case 0: return .hello(version: 1, incarnation: incarnation, largestPayload: number(0...1))
    case 1:
      return .open(
        version: 1, session: SessionID(session: session, incarnation: incarnation), largestPayload: number(0...1),
        window: number(0...1))
    case 2:
      return .reset(session: session, reason: ResetReason(rawValue: .random(in: 0...5, using: &random)) ?? .unknown)
    case 3...5: return .poll(session: session, token: .random(in: 0 ... .max, using: &random))
    case 6...8:
      let answer: Acknowledgement.Answer? =
        Bool.random(using: &random)
        ? .init(token: .random(in: 0 ... .max, using: &random), delay: .random(in: 0 ... .max, using: &random)) : nil
      return .acknowledgement(
        Acknowledgement(
          answer: answer, arrivals: Arrivals(next: number(0...3), runs: runs(Bool.random(using: &random) ? 0 : 3)),
          window: number(0...1)))
    default:
      let header = DataHeader(
        number: number(0...1100), next: Int.random(in: 0...9, using: &random) == 0 ? number(0...2) : nil,
        isLast: Int.random(in: 0...30, using: &random) == 0)
      return .data(header, payload: bytes(100)[...])
    }
  }

  /// Checks that the memory of a layer does not depend on how long it is attacked.
  private func expectBounded(_ layer: LineLayer, _ comment: Comment) {
    #expect(layer.control.count <= 8, comment)
    #expect(layer.ended.count <= 16, comment)
    #expect(layer.reader.heldBytes <= layer.reader.mostHeldBytes, comment)
    guard let session = layer.session else { return }
    #expect(session.questions.polls.count <= 8, comment)
    #expect(session.receiver.units.unread <= layer.configuration.window, comment)
    #expect(session.receiver.units.heldMemory <= layer.configuration.window / 16 * 17 + 17, comment)
    #expect(session.sender.frames.units <= Unit.largestWindow + 1, comment)
  }

  @Test("valid frames in random order do not trap or make an end exceed its memory limits", arguments: 0..<60)
  func randomFrames(_ seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    var configuration = LineLayerConfiguration.defaults
    configuration.bytesPerSecond = [nil, 30, 960, 92_160][seed % 4]
    configuration.window = seed % 3 == 0 ? 2048 : 131_072
    var layer = LineLayer(
      seed % 2 == 0 ? .dialer : .listener(incarnation: 7), configuration: configuration, at: 0)
    var now: UInt64 = 0
    for turn in 0..<1500 {
      now += UInt64.random(in: 0...30_000_000, using: &random)
      if !layer.hasSession, turn % 3 == 0 { layer.open(session: 5, at: now) }
      switch turn % 50 {
      case 0: layer.lineLost(at: now)
      case 1: layer.lineRestored(at: now)
      default: break
      }
      // With the session's seal; otherwise the layer would drop it as damaged.
      layer.receive(Self.random(&random), at: now)
      if Bool.random(using: &random) { layer.send([1, 2, 3]) }
      layer.handleTimeout(at: now)
      if Int.random(in: 0...3, using: &random) > 0 { _ = layer.transmit(at: now) }
      for event in layer.takeEvents() where Bool.random(using: &random) { layer.consumed(event.bytes.count, at: now) }
      if turn % 100 == 0 { expectBounded(layer, "seed \(seed), turn \(turn)") }
    }
    expectBounded(layer, "seed \(seed)")
  }

  @Test("random bytes deliver nothing and do not end the session", arguments: 0..<10)
  func randomBytes(_ seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    var layer = Self.listener()
    for turn in 0..<300 {
      let bytes = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
        UInt8.random(in: 0...(turn % 2 == 0 ? 255 : 3), using: &random)
      }
      layer.receive(bytes, at: UInt64(turn))
    }
    expectBounded(layer, "seed \(seed)")
    #expect(layer.takeEvents().isEmpty && layer.hasSession)
  }

  @Test("a frame without an end does not make an end exceed its buffer")
  func endlessFrame() {
    var layer = Self.listener()
    let piece = [UInt8](repeating: 0x55, count: 65_536)
    for _ in 0..<100 { layer.receive(piece, at: 1) }
    #expect(layer.reader.deframer.heldBytes <= layer.reader.deframer.limit && layer.reader.mostHeldBytes < 6400)
  }

  @Test("a flood of POLLs gets one ANSWER, and a flood of POLLs of unknown sessions eight RESETs")
  func floods() {
    var layer = Self.listener()
    for token in 0..<10_000 { layer.receive(.poll(session: 5, token: UInt8(token & 0xFF)), at: 1) }
    #expect(layer.sentFrames(at: 1).count == 1)
    for session in 10..<10_000 { layer.receive(.poll(session: UInt32(session), token: 0), at: 1) }
    #expect(layer.sentFrames(at: 1).count == 8)
  }

  @Test("if a peer opens thousands of sessions, each replaces the one before and no memory is kept")
  func openFlood() {
    var layer = Self.listener()
    for session in 10..<5_000 {
      let id = SessionID(session: UInt32(session), incarnation: 7)
      layer.receive(.open(version: 1, session: id, largestPayload: 64, window: 1), at: 1)
      layer.receive(.data(DataHeader(number: 1, next: nil, isLast: false), payload: [1, 2, 3]), at: 1)
      #expect(layer.takeEvents() == [.ended(.peerRestarted), .ready, .confirmed])
    }
    expectBounded(layer, "opens")
  }

  @Test("if a peer keeps its window at zero, an end sends one POLL a second and no DATA")
  func zeroWindow() {
    var layer = Self.listener()
    layer.send([UInt8](repeating: 1, count: 10_000))
    layer.receive(.acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 0)), at: 1)
    var polls = 0
    var now: UInt64 = 1
    while let next = layer.nextDeadline, next < 60_000_000_000 {
      now = max(now, next)
      layer.handleTimeout(at: now)
      for frame in layer.sentFrames(at: now) {
        guard case .poll(_, let token) = frame else {
          Issue.record("sent \(frame)")
          continue
        }
        polls += 1
        layer.receive(
          .acknowledgement(
            Acknowledgement(answer: .init(token: token, delay: 0), arrivals: Arrivals(next: 0), window: 0)), at: now)
      }
    }
    #expect((55...61).contains(polls))
    #expect(layer.room(at: now) == 0 && layer.hasSession)
  }

  @Test(
    "if a peer acknowledges units that were never sent, the session ends with RESET(aborted)",
    arguments: [(3, []), (2, [1]), (0, [1, 2]), (0, [1, 1, 1]), (30_000, [])] as [(UInt16, [UInt16])])
  func absurdAcknowledgement(_ next: UInt16, _ runs: [UInt16]) {
    var layer = Self.listener()
    layer.send([1])
    _ = layer.transmit(at: 1)
    layer.send([2])
    _ = layer.transmit(at: 1)
    layer.receive(
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: next, runs: runs), window: 9)), at: 2)
    #expect(layer.takeEvents() == [.ended(.violation)])
    #expect(layer.sentFrames(at: 2) == [.reset(session: 5, reason: .aborted)])
  }

  @Test("if a peer sends its DATA in many small pieces, an end keeps no more than the window")
  func manyPieces() {
    var layer = Self.listener { $0.window = 4096 }
    for number in (1...2000).reversed() {
      layer.receive(
        .data(DataHeader(number: UInt16(number), next: nil, isLast: false), payload: [1, 2, 3, 4, 5]), at: 1)
      layer.receive(.data(DataHeader(number: UInt16(number), next: nil, isLast: false), payload: []), at: 1)
    }
    expectBounded(layer, "pieces")
    #expect(layer.takeEvents().isEmpty)
  }

  @Test(
    "if a peer announces a tiny largest payload, an end still sends up to 64 bytes in a frame",
    arguments: [0, 1, 65_535] as [UInt16])
  func payloadSizes(_ largest: UInt16) {
    var layer = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    layer.receive(.open(version: 1, session: Self.id, largestPayload: largest, window: 65_535), at: 0)
    layer.send([UInt8](repeating: 1, count: 5000))
    for case .data(_, let payload) in layer.sentFrames(at: 0) {
      #expect(payload.count >= 1 && payload.count <= max(largest, 64))
    }
    #expect(layer.statistics.sentFrames <= 1100)
  }

  @Test("an end with small frames accepts an acknowledgement with the longest list")
  func longList() {
    var layer = Self.listener {
      $0.largestPayload = 64
      $0.window = 4096
    }
    layer.send([UInt8](repeating: 1, count: 4096))
    _ = layer.transmit(at: 0)
    let runs = [UInt16](repeating: 1, count: 32)
    layer.receive(
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0, runs: runs), window: 1)), at: 1)
    #expect(layer.statistics.damagedFrames == 0)
    #expect(layer.session?.sender.peerWindow == 1)
  }
}
