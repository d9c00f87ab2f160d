import Testing

@testable import LinkLayer

@Suite("Frame sizer")
struct FrameSizerTests {
  @Test("begins with frames of a few hundred bytes")
  func start() {
    #expect((300...400).contains(FrameSizer().payload))
  }

  @Test("finds the size that carries most", arguments: [(1e-6, 1500), (1e-5, 335), (1e-4, 106)])
  func converges(_ bitErrorRate: Double, _ best: Int) {
    var sizer = FrameSizer()
    let byteErrorRate = bitErrorRate * 8
    // As many losses as bytes, without chance.
    var debt = 0.0
    for _ in 0..<20_000 {
      let count = sizer.payload + FrameCodec.dataOverhead
      debt += byteErrorRate * Double(count)
      if debt >= 1 {
        debt -= 1
        sizer.note(arrivedBytes: 0, lostFrames: 1, lostBytes: sizer.payload)
      } else {
        sizer.note(arrivedBytes: sizer.payload, lostFrames: 0, lostBytes: 0)
      }
    }
    #expect((best * 3 / 5...best * 5 / 3).contains(sizer.payload), "\(sizer.payload)")
  }

  @Test("keeps a smallest size, whatever happens")
  func smallest() {
    var sizer = FrameSizer()
    for _ in 0..<100_000 { sizer.note(arrivedBytes: 0, lostFrames: 1000, lostBytes: 0) }
    #expect(sizer.payload == FrameSizer.smallest)
    for _ in 0..<100_000 { sizer.note(arrivedBytes: 2048, lostFrames: 0, lostBytes: 0) }
    #expect(sizer.payload > 1000)
  }
}

@Suite("Round trip")
struct RoundTripTests {
  @Test("waits for what it has measured, and for as much as that varies")
  func timeout() {
    var roundTrip = RoundTrip()
    #expect(roundTrip.timeout == RoundTrip.initialTimeout)
    for _ in 0..<50 { roundTrip.sample(20_000_000) }
    #expect((30_000_000...31_000_000).contains(roundTrip.timeout))
    for turn in 0..<50 { roundTrip.sample(turn % 2 == 0 ? 10_000_000 : 90_000_000) }
    #expect(roundTrip.timeout > 120_000_000)
  }
}

@Suite("Pacer")
struct PacerTests {
  @Test("lets ten milliseconds wait behind the wire, no more", arguments: [1200, 11_520, 92_160, 300_000])
  func ahead(_ rate: Int) {
    var pacer = Pacer(bytesPerSecond: rate)
    var sent = 0
    let frame = max(rate / 1000, 1)
    for now in stride(from: 0 as UInt64, to: 2_000_000_000, by: 1_000_000) {
      while now >= pacer.readyAt {
        pacer.handOver(frame, at: now)
        sent += frame
      }
      let carried = Double(rate) * Double(now) / 1e9
      #expect(Double(sent) - carried <= Double(rate) * 0.0101 + Double(2 * frame))
    }
    #expect(Double(sent) >= Double(rate) * 1.999)
  }

  @Test("does not pace where no rate is known")
  func unpaced() {
    var pacer = Pacer(bytesPerSecond: nil)
    pacer.handOver(1_000_000, at: 5)
    #expect(pacer.readyAt == 0 && !pacer.isPacing && pacer.rate == nil)
  }

  @Test(
    "survives answers that make no sense, on a line of any speed", arguments: [10, 30, 120, 960, 11_520, 300_000_000])
  func nonsense(_ rate: Int) throws {
    for excess in [-1_000_000_000_000_000, -1, 0, 3_000_000_000, 1_000_000_000_000_000] as [Int64] {
      var pacer = Pacer(bytesPerSecond: rate)
      var now: UInt64 = 1
      for turn in 0..<200 {
        now += 150_000_000 + UInt64(turn) * 10_000_000
        pacer.handOver(50, at: now)
        pacer.sample(excess: turn % 7 == 0 ? 0 : excess, wasAtRest: turn % 5 == 0, at: now)
      }
      let believed = try #require(pacer.rate)
      #expect(believed >= rate / 2 - 1 && believed <= rate + rate / 8 + 1)
    }
  }
}

@Suite("Link configuration")
struct LinkConfigurationTests {
  private func refused(_ change: (inout LinkConfiguration) -> Void) -> LinkConfigurationError? {
    var configuration = LinkConfiguration.defaults
    change(&configuration)
    do {
      try configuration.check()
      return nil
    } catch {
      return error
    }
  }

  @Test("refuses what cannot work, and names the field")
  func fields() {
    #expect(refused { _ in } == nil)
    #expect(refused { $0.bytesPerSecond = 9 } == .tooSmall("bytesPerSecond", least: 10))
    #expect(refused { $0.largestPayload = 63 } == .tooSmall("largestPayload", least: 64))
    #expect(refused { $0.largestPayload = 65_536 } == .tooLarge("largestPayload", most: 65_535))
    #expect(refused { $0.window = 4095 } == .tooSmall("window", least: 4096))
    #expect(refused { $0.window = 1 << 20 } == .tooLarge("window", most: 16 * 65_535))
    #expect(refused { $0.keepAlive = 0 } == .tooSmall("keepAlive", least: 1))
    #expect(refused { $0.patience = 0 } == .tooSmall("patience", least: 1))
    let day = 86_400_000_000_000
    #expect(refused { $0.keepAlive = .max } == .tooLarge("keepAlive", most: day))
    #expect(refused { $0.patience = .max } == .tooLarge("patience", most: day))
    #expect(refused { $0.grace = .max } == .tooLarge("grace", most: day))
    #expect(refused { $0.acknowledgementDelay = .max } == .tooLarge("acknowledgementDelay", most: day))
  }
}
