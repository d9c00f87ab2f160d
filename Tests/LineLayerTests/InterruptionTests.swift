import Testing

@testable import BywayLineLayer

@Suite("Interruptions")
struct InterruptionTests {
  private static let id = SessionID(session: 5, incarnation: 7)

  /// A listener with a session on a line of 115,200 baud. The test writes the frames of its peer.
  private struct End {
    var layer: LineLayer
    var now: UInt64 = 0
    /// The number of the first unit that the peer has not received.
    var next: UInt16 = 0
    private(set) var polls: [UInt8] = []

    init() {
      var configuration = LineLayerConfiguration.defaults
      configuration.bytesPerSecond = 11_520
      layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
      layer.receive(.open(version: 1, session: id, largestPayload: 2048, window: 8192), at: 0)
      _ = layer.transmit(at: 0)
    }

    /// Lets time pass, and sends the frames that are due.
    /// - Returns: how many units of data were sent.
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

    /// Receives an acknowledgement from the peer, as an answer to the latest POLL if there is one.
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
    /// Neither end is told of it.
    case silent
    /// Neither end is told of it, and the first frame after it is a POLL.
    case silentThenAsked
    /// The line is lost and restored, and the peer sends the first POLL.
    case replugged
  }

  @Test(
    "after an interruption, an end sends only the lost frames again and keeps its frame size", arguments: Kind.allCases)
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
    // From now on all frames are lost, POLLs included.
    end.layer.send([UInt8](repeating: 1, count: 5 * 186))
    switch kind {
    case .silent:
      _ = end.pass(4000)
      #expect(end.layer.session?.questions.isHolding == true)
    case .silentThenAsked:
      _ = end.pass(3000)
      #expect(end.layer.session?.questions.isHolding == true)
      end.ask()
      _ = end.pass(200)
    case .replugged:
      for _ in 0..<200 where end.layer.session?.sender.pending.isEmpty == false { _ = end.pass(1) }
      #expect(end.layer.session?.questions.isHolding == false)
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

  @Test("after an interruption, an end sends a zero first, so that a partial frame ends at its peer")
  func delimiter() {
    var end = End()
    end.layer.send([UInt8](repeating: 1, count: 100))
    _ = end.pass(20)
    end.layer.lineLost(at: end.now)
    end.layer.lineRestored(at: end.now + 1_000_000)
    let bytes = end.layer.transmit(at: end.now + 1_000_000)
    let said = Wire.frames(in: bytes, seal: Self.id).count
    #expect(said > 0)
    // The peer has received the beginning of a frame.
    let beginning = Wire.bytes(of: .poll(session: Self.id.session, token: 1)).dropLast(3)
    #expect(Wire.frames(in: beginning + bytes, seal: Self.id).count == said)
  }

  @Test(
    "if everything worth waiting for is acknowledged, an interruption ends the session at once",
    arguments: [false, true])
  func expendable(_ isLost: Bool) {
    var end = End()
    end.layer.send([UInt8](repeating: 1, count: 100))
    end.next += UInt16(end.pass(20))
    end.report()
    // The following bytes need no acknowledgement.
    end.layer.forgo(after: 100)
    end.layer.send([UInt8](repeating: 2, count: 10))
    _ = end.pass(20)
    #expect(end.layer.hasSession)
    if isLost { end.layer.lineLost(at: end.now) } else { _ = end.pass(6000) }
    #expect(end.ends == [.abortedHere])
  }

  @Test("if required data is not acknowledged, the session survives an interruption")
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

  @Test("if the owner stops waiting during an interruption, the session ends at once")
  func forgoneLater() {
    var end = End()
    end.layer.lineLost(at: end.now)
    #expect(end.layer.hasSession)
    end.layer.forgo(after: 0)
    #expect(end.ends == [.abortedHere])
  }

  @Test(
    "after the line is back, patience starts over: silence before the interruption does not count", arguments: [1, 20])
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

  @Test("an interruption counts as survived when the peer is heard again")
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

  @Test("an end counts the bytes of noise as they arrive")
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
