import Testing

@testable import BywayLineLayer

@Suite("Forward error correction in a session")
struct CorrectionTests {
  private static let id = SessionID(session: 5, incarnation: 7)
  private static let next = SessionID(session: 6, incarnation: 7)
  private static let noisy = Noise(halfErrors: 16, in: 1000)

  /// A listener with a session, and the frames that its peer sends.
  private struct End {
    var layer: LineLayer
    var now: UInt64 = 1_000_000

    /// Lets it report noise, receive a report of noise, and begin to send with correction.
    mutating func hearNoise() {
      damage()
      _ = report()
      tell(CorrectionTests.noisy)
      prove()
    }

    init(correction: Int = Strength.count, peer: UInt8 = 12) {
      var configuration = LineLayerConfiguration.defaults
      configuration.correction = correction
      layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
      layer.receive(
        .open(version: 1, session: id, largestPayload: 2048, window: 8192, correction: peer), at: now)
      _ = layer.transmit(at: now)
    }

    mutating func tell(_ noise: Noise, next: UInt16 = 0) {
      layer.receive(.noise(noise), at: now)
      layer.receive(
        .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: next), window: 8192)), at: now)
    }

    /// Returns the frames that it sends next except NOISE, and whether each has correction.
    mutating func nextFrames() -> [(frame: Frame, hasCorrection: Bool)] {
      allFrames().filter { if case .noise = $0.frame { false } else { true } }
    }

    mutating func allFrames() -> [(frame: Frame, hasCorrection: Bool)] {
      let bytes = layer.transmit(at: now)
      var reader = CorrectionCodec.reader(seal: id)
      return reader.receive(bytes).compactMap { arrival in
        switch arrival {
        case .run(var run, _): FrameCodec.decode(&run, seal: id).map { ($0, false) }
        case .corrected(let body, _, _, _): FrameCodec.read(body, seal: id).map { ($0, true) }
        case .tooLong, .uncorrectable: nil
        }
      }
    }

    /// Proves that correction helps: at first the peer acknowledges only frames with correction, and the last frame.
    mutating func prove() {
      layer.send([UInt8](repeating: 1, count: 4000))
      var here: Set<Int> = []
      for round in 0..<20 where here.count < 250 {
        for (frame, hasCorrection) in nextFrames() {
          guard case .data(let header, let payload) = frame else { continue }
          let units = Int(header.number)..<Int(header.number) + Unit.count(payload.count)
          if hasCorrection || round > 3 || units.upperBound == 250 { here.formUnion(units) }
        }
        let edges = (0...250).filter { $0 == 250 || here.contains($0) != here.contains($0 - 1) && $0 > 0 }
        let next = here.contains(0) ? edges[0] : 0
        let ends = here.contains(0) ? edges : [0] + edges
        let runs = zip(ends, ends.dropFirst()).map { UInt16($1 - $0) }.prefix(16)
        let report = Frame.acknowledgement(
          Acknowledgement(answer: nil, arrivals: Arrivals(next: UInt16(next), runs: Array(runs)), window: 8192))
        // A byte of each is wrong: that it arrives shows that correction helps.
        var bytes = CorrectionCodec.bytes(of: report, Strength(index: 2), seal: id)
        bytes[10] ^= 0x55
        layer.receive(bytes, at: now)
      }
    }

    mutating func damage() {
      for _ in 0..<6 { layer.receive([UInt8](repeating: 9, count: 60) + [0], at: now) }
    }

    /// Returns the noise that it reports.
    mutating func report() -> Noise? {
      layer.receive(.poll(session: 5, token: 1), at: now)
      for case .noise(let noise) in allFrames().map(\.frame) { return noise }
      return nil
    }
  }

  @Test("if neither end hears noise, a listener sends no NOISE and no correction")
  func quiet() {
    var end = End()
    #expect(end.report() == nil)
    end.tell(.none)
    end.layer.send([1, 2, 3])
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
  }

  @Test("if an end hears noise, it sends NOISE and corrects the frames that it receives")
  func heard() {
    var end = End()
    end.damage()
    #expect(end.report().map { $0.parts > 10_000 } == true)
    var bytes = CorrectionCodec.bytes(
      of: .data(DataHeader(number: 0, next: nil, isLast: false), payload: [1, 2, 3]), Strength(index: 1), seal: Self.id)
    bytes[10] ^= 0x55
    end.layer.receive(bytes, at: end.now)
    #expect(end.layer.takeEvents().last == .received([1, 2, 3]))
    #expect(end.layer.statistics.correctedBytes == 1)
  }

  @Test("if a new session begins, an end counts noise from zero")
  func anew() {
    var end = End()
    end.damage()
    #expect(end.report() != nil)
    end.layer.receive(
      .open(version: 1, session: Self.next, largestPayload: 2048, window: 8192, correction: 12), at: end.now)
    end.layer.receive(.poll(session: 6, token: 1), at: end.now)
    let bytes = end.layer.transmit(at: end.now)
    #expect(
      !CorrectionCodec.frames(in: bytes, seal: Self.next).frames.contains {
        if case .noise = $0 { true } else { false }
      })
  }

  @Test("a listener drops HELLO, OPEN and RESET that have the correction of its session")
  func misplaced() {
    var end = End()
    let next = Frame.open(version: 1, session: Self.next, largestPayload: 2048, window: 8192, correction: 12)
    for frame in [.reset(session: 5, reason: .aborted), next, .hello(version: 1, incarnation: 9, largestPayload: 64)]
      as [Frame]
    {
      end.layer.receive([0] + CorrectionCodec.bytes(of: frame, Strength(index: 1), seal: Self.id), at: end.now)
      #expect(end.layer.session?.id == Self.id && end.layer.statistics.refusedFrames == 0)
    }
    end.tell(Self.noisy)
    #expect(end.layer.statistics.damagedFrames == 3)
  }

  @Test("a listener accepts a corrected frame in the same read as the OPEN of its session")
  func atOnce() {
    var end = End()
    let open = Frame.open(version: 1, session: Self.next, largestPayload: 2048, window: 8192, correction: 12)
    let data = Frame.data(DataHeader(number: 0, next: nil, isLast: false), payload: [1, 2, 3])
    let bytes = Wire.bytes(of: open, seal: nil) + CorrectionCodec.bytes(of: data, Strength(index: 1), seal: Self.next)
    end.layer.receive([0] + bytes, at: end.now)
    #expect(end.layer.takeEvents().last == .received([1, 2, 3]))
  }

  @Test("if the peer reports noise, an end adds correction to all frames of the session until the noise stops")
  func told() {
    var end = End()
    end.hearNoise()
    end.layer.send([1, 2, 3])
    end.layer.receive(.data(DataHeader(number: 0, next: nil, isLast: false), payload: [1]), at: end.now)
    end.layer.receive(.poll(session: 5, token: 1), at: end.now)
    let said = end.nextFrames()
    #expect(said.count == 2 && said.allSatisfy(\.hasCorrection))
    #expect(end.layer.statistics.correctableErrors > 0)
    // A frame of another session never has correction, as its sender may not support it.
    end.layer.receive(.poll(session: 6, token: 1), at: end.now)
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
    end.tell(.none, next: 251)
    end.layer.send([1, 2, 3])
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
    #expect(end.layer.statistics.correctableErrors == 0)
  }

  @Test("until correction has helped, every other DATA frame is sent without it, retransmissions included")
  func trial() {
    var end = End()
    end.tell(Self.noisy)
    end.layer.send([UInt8](repeating: 1, count: 1200))
    let said = end.nextFrames()
    #expect(said.count > 3)
    for (index, (_, hasCorrection)) in said.enumerated() { #expect(hasCorrection == (index % 2 == 0)) }
    // All of it is lost but the last.
    guard case .data(let header, let payload) = said.last?.frame else { return }
    let report = Acknowledgement(
      answer: nil, arrivals: Arrivals(next: 0, runs: [header.number, UInt16(Unit.count(payload.count))]), window: 8192)
    end.layer.receive(.noise(Noise(halfErrors: 40, in: 1000)), at: end.now)
    end.layer.receive(.acknowledgement(report), at: end.now)
    let again = end.nextFrames()
    #expect(again.contains(where: \.hasCorrection) && again.contains { !$0.hasCorrection })
  }

  @Test("if corrected frames arrive without errors, they do not prove that correction helps in the other direction")
  func unprovenReports() {
    var end = End()
    end.damage()
    _ = end.report()
    end.tell(Self.noisy)
    for number in 0..<8 as Range<UInt16> {
      let data = Frame.data(DataHeader(number: number, next: nil, isLast: false), payload: [1])
      end.layer.receive(CorrectionCodec.bytes(of: data, Strength(index: 3), seal: Self.id), at: end.now)
    }
    end.layer.receive(.poll(session: 5, token: 1), at: end.now)
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
  }

  @Test("the statistics keep the number of corrected bytes when the session ends")
  func ended() {
    var end = End()
    end.hearNoise()
    let before = end.layer.statistics
    end.layer.abort(at: end.now)
    #expect(before.correctableErrors > 0 && end.layer.statistics.correctableErrors == before.correctableErrors)
    #expect(end.layer.statistics.correctedBytes == before.correctedBytes && before.correctedBytes > 0)
  }

  @Test("if the peer cannot correct, an end sends it no NOISE and no correction")
  func minimal() {
    var end = End(peer: 0)
    end.damage()
    #expect(end.report() == nil)
    end.tell(Self.noisy)
    end.layer.send([1, 2, 3])
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
  }

  @Test("HELLO announces how many strengths of correction an end has, or none")
  func says() {
    var layer = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    #expect(layer.sentFrames(at: 0) == [.hello(version: 1, incarnation: 7, largestPayload: 2048, correction: 12)])
    var configuration = LineLayerConfiguration.defaults
    configuration.correction = 0
    layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
    #expect(layer.sentFrames(at: 0) == [.hello(version: 1, incarnation: 7, largestPayload: 2048)])
  }

  @Test("a repeated POLL has correction every other time, as a restarted peer cannot read it")
  func questions() {
    var end = End()
    end.hearNoise()
    end.layer.send([1, 2, 3])
    var polls: [Bool] = []
    for _ in 0..<20 where polls.count < 4 {
      for (frame, hasCorrection) in end.nextFrames() { if case .poll = frame { polls.append(hasCorrection) } }
      guard let next = end.layer.nextDeadline else { break }
      end.now = max(end.now, next)
      end.layer.handleTimeout(at: end.now)
    }
    #expect(polls == [true, false, true, false])
  }

  @Test("if the measured noise changes, an end sends NOISE in a frame of its own")
  func change() {
    var end = End()
    end.damage()
    end.layer.receive(.data(DataHeader(number: 0, next: nil, isLast: false), payload: [1]), at: end.now)
    end.layer.send([1])
    end.now += 20_000_000
    end.layer.handleTimeout(at: end.now)
    let said = end.allFrames().map(\.frame)
    #expect(said.contains { if case .noise(let noise) = $0 { noise != .none } else { false } })
  }

  @Test("if the line is lost and restored, an end forgets the noise that its peer reported")
  func lineLost() {
    var end = End()
    end.tell(Self.noisy)
    end.layer.lineLost(at: end.now)
    end.layer.lineRestored(at: end.now)
    #expect(end.nextFrames().map(\.hasCorrection) == [false])
  }
}
