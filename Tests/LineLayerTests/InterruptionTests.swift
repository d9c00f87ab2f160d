import Testing

@testable import BywayLineLayer

@Suite("An interruption")
struct InterruptionTests {
  private static let id = SessionID(session: 5, incarnation: 7)

  /// A listener with a session, on a line of 115,200 baud, and a peer whose frames the test writes.
  private struct End {
    var layer: LineLayer
    var now: UInt64 = 0
    /// Units that the peer has had.
    var next: UInt16 = 0
    private(set) var polls: [UInt8] = []

    init() {
      var configuration = LineLayerConfiguration.defaults
      configuration.bytesPerSecond = 11_520
      layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
      layer.receive(.open(version: 1, session: id, largestPayload: 2048, window: 8192), at: 0)
      _ = layer.transmit(at: 0)
    }

    /// Lets time pass, and sends whatever is due.
    /// - Returns: units of data.
    mutating func pass(_ milliseconds: Int) -> Int {
      var units = 0
      for _ in 0..<milliseconds {
        now += 1_000_000
        layer.handleTimeout(at: now)
        for frame in layer.sentFrames(at: now, seal: id) {
          if case .poll(_, let token) = frame { polls.append(token) }
          if case .data(_, let payload) = frame { units += Unit.count(payload.count) }
        }
      }
      return units
    }

    /// The peer says what it has, in answer to the latest poll if there is one.
    mutating func report() {
      let answer = polls.last.map { Acknowledgement.Answer(token: $0, delay: 0) }
      polls = []
      layer.receive(
        .acknowledgement(Acknowledgement(answer: answer, arrivals: Arrivals(next: next), window: 8192)), at: now)
    }

    /// The ends of the session since the last call.
    var ends: [SessionEnd] {
      mutating get {
        var ends: [SessionEnd] = []
        while let event = layer.nextEvent() {
          if case .ended(let end) = event { ends.append(end) }
        }
        return ends
      }
    }

    mutating func ask() {
      layer.receive(.poll(session: id.session, token: 1), at: now)
    }
  }

  enum Kind: CaseIterable {
    /// Neither end is told.
    case silent
    /// Nor here, and the first that is heard is a question.
    case silentThenAsked
    /// The line was gone and is back, and the other end has asked before this one could.
    case replugged
  }

  @Test("of the line costs what it cost, and frames stay as large as they were", arguments: Kind.allCases)
  func size(_ kind: Kind) {
    var end = End()
    for _ in 0..<100 {
      end.layer.send([UInt8](repeating: 1, count: 186))
      end.next += UInt16(end.pass(20))
      end.report()
    }
    let before = end.layer.statistics
    let sized = end.layer.sizer.payload
    #expect(before.framePayload >= 180)
    // Frames that are sent now are lost, questions included.
    end.layer.send([UInt8](repeating: 1, count: 5 * 186))
    switch kind {
    case .silent:
      _ = end.pass(4000)
      #expect(end.layer.session?.asking.isHolding == true)
    case .silentThenAsked:
      _ = end.pass(3000)
      #expect(end.layer.session?.asking.isHolding == true)
      end.ask()
      _ = end.pass(200)
    case .replugged:
      for _ in 0..<200 where end.layer.session?.sending.pending.isEmpty == false { _ = end.pass(1) }
      #expect(end.layer.session?.asking.isHolding == false)
      end.layer.lineLost(at: end.now)
      end.now += 1_000_000_000
      end.layer.lineRestored(at: end.now)
      end.ask()
      _ = end.pass(20)
    }
    end.report()
    #expect(end.layer.statistics.repeatedFrames == 5)
    #expect(end.layer.statistics.framePayload >= before.framePayload - 3)
    #expect(end.layer.sizer.payload == sized)
  }

  @Test("ends what it broke off before anything else is said, however short it was")
  func delimiter() {
    var end = End()
    end.layer.send([UInt8](repeating: 1, count: 100))
    _ = end.pass(20)
    end.layer.lineLost(at: end.now)
    end.layer.lineRestored(at: end.now + 1_000_000)
    let bytes = end.layer.transmit(at: end.now + 1_000_000)
    let said = Wire.frames(in: bytes, seal: Self.id).count
    #expect(said > 0)
    // The peer has had the beginning of a frame.
    let beginning = Wire.bytes(of: .poll(session: Self.id.session, token: 1)).dropLast(3)
    #expect(Wire.frames(in: beginning + bytes, seal: Self.id).count == said)
  }

  @Test("ends a session at once if nothing in it is worth waiting for", arguments: [false, true])
  func expendable(_ isLost: Bool) {
    var end = End()
    end.layer.send([UInt8](repeating: 1, count: 100))
    end.next += UInt16(end.pass(20))
    end.report()
    // What follows is a farewell.
    end.layer.forgo(after: 100)
    end.layer.send([UInt8](repeating: 2, count: 10))
    _ = end.pass(20)
    #expect(end.layer.hasSession)
    if isLost { end.layer.lineLost(at: end.now) } else { _ = end.pass(6000) }
    #expect(end.ends == [.abortedHere])
  }

  @Test("is waited out by a session that lacks an acknowledgement it is told to wait for")
  func worthWaiting() {
    var end = End()
    end.layer.send([UInt8](repeating: 1, count: 100))
    end.next += UInt16(end.pass(20))
    end.layer.forgo(after: 100)
    end.layer.lineLost(at: end.now)
    end.now += 5_000_000_000
    end.layer.lineRestored(at: end.now)
    _ = end.pass(20)
    #expect(end.ends.isEmpty && end.layer.hasSession)
    end.report()
    end.layer.lineLost(at: end.now)
    #expect(end.ends == [.abortedHere])
  }

  @Test("that began before a session was told not to wait ends it too")
  func forgoneLater() {
    var end = End()
    end.layer.lineLost(at: end.now)
    #expect(end.layer.hasSession)
    end.layer.forgo(after: 0)
    #expect(end.ends == [.abortedHere])
  }

  @Test("makes patience start over: silence before an unplug does not count after the replug", arguments: [1, 20])
  func patience(_ seconds: Int) {
    var end = End()
    end.report()
    end.layer.send([1])
    _ = end.pass(29_000)
    end.layer.lineLost(at: end.now)
    _ = end.pass(1000 * seconds)
    end.layer.lineRestored(at: end.now)
    _ = end.pass(29_500)
    #expect(end.layer.hasSession)
    _ = end.pass(1000)
    #expect(!end.layer.hasSession)
  }

  @Test("counts as one that the session has outlived when the other end is heard again")
  func resumes() {
    var end = End()
    end.report()
    for round in 1...2 {
      end.layer.lineLost(at: end.now)
      _ = end.pass(10)
      end.layer.lineRestored(at: end.now)
      #expect(end.layer.statistics.resumes == UInt64(round - 1))
      end.ask()
      end.ask()
      #expect(end.layer.statistics.resumes == UInt64(round))
    }
  }

  @Test("by noise is counted in bytes, as they come")
  func noise() {
    var end = End()
    let before = end.layer.statistics.foreignBytes
    end.layer.receive([0, 1, 2, 3, 0], at: end.now)
    #expect(end.layer.statistics.foreignBytes == before + 3)
    for _ in 0..<10 { end.layer.receive([UInt8](repeating: 7, count: 1000), at: end.now) }
    #expect(end.layer.statistics.foreignBytes == before + 10_003)
    end.ask()
    end.ask()
    #expect(end.layer.statistics.foreignBytes < before + 10_100)
  }
}
