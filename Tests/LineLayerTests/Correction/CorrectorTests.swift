import Testing

@testable import BywayLineLayer

@Suite("Choice of correction")
struct CorrectorTests {
  private static let room = Corrector.Room(frame: 1843, payload: 2048)
  private static func noise(_ share: Double) -> Noise { Noise(halfErrors: UInt64(share * 2e9), in: 1_000_000_000) }

  private static func lost(_ payload: Int) -> FrameSizer.Trials {
    var trials = FrameSizer.Trials(overhead: Corrector.overhead)
    trials.noteLoss(of: payload)
    return trials
  }

  @Test("a NOISE level is at most a sixteenth below the error rate, and 0 below one byte in 61,680")
  func told() {
    for share in [0.00002, 0.0008, 0.0079, 0.024, 0.3] {
      let told = Double(Self.noise(share).parts) / Double(1 << 20)
      #expect(told > share * 15 / 16.1 && told <= share * 1.001, "\(share): \(told)")
    }
    #expect(Self.noise(0.000_016) == .none && Self.noise(0) == .none)
    // Noise beyond correction has a code of its own.
    #expect(Noise(halfErrors: 10, in: 1).code == 254)
    for code in UInt8.min...254 {
      let noise = Noise(code: code)
      #expect(Noise(halfErrors: noise.parts, in: 1 << 19) == noise || code == 0 && noise.parts == 0)
    }
  }

  @Test("the corrector adds more parity as the peer reports more noise, and none when the noise stops")
  func follows() {
    var corrector = Corrector(most: Strength.count)
    _ = corrector.update(.none, plain: FrameSizer(), Self.room, at: 0)
    #expect(!corrector.isOn && corrector.errors == 0)
    var errors = 0
    for rate in [1e-4, 3e-4, 1e-3, 3e-3] {
      _ = corrector.update(Self.noise(8 * rate), plain: FrameSizer(), Self.room, at: 0)
      #expect(corrector.isOn && corrector.errors > errors)
      errors = corrector.errors
    }
    _ = corrector.update(Self.noise(4e-6), plain: FrameSizer(), Self.room, at: 0)
    #expect(!corrector.isOn)
  }

  @Test("if frames without correction carry more, as short ones with little noise do, the corrector adds none")
  func slowLine() {
    let slow = Corrector.Room(frame: 195, payload: 2048)
    for (share, isOn) in [(3e-5, false), (2e-3, true)] {
      var corrector = Corrector(most: Strength.count)
      _ = corrector.update(Self.noise(share), plain: FrameSizer(), slow, at: 0)
      #expect(corrector.isOn == isOn)
    }
  }

  @Test("the corrector adds none if the peer cannot correct, and no more than the peer announced")
  func ability() {
    var none = Corrector(most: 0)
    _ = none.update(Self.noise(0.01), plain: FrameSizer(), Self.room, at: 0)
    #expect(!none.isOn)
    var some = Corrector(most: 2)
    _ = some.update(Self.noise(0.03), plain: FrameSizer(), Self.room, at: 0)
    #expect(some.isOn && some.strength(of: 200, isData: true).index == 1)
  }

  @Test("if corrected frames are lost too, the corrector stops, and tries again after 16, 64 and 256 s")
  func rests() {
    var corrector = Corrector(most: Strength.count)
    var plain = FrameSizer()
    var arrived = FrameSizer.Trials()
    for _ in 0..<40 { arrived.noteArrival(of: 64) }
    plain.note(arrived)
    var now: UInt64 = 0
    for rest in [16, 64, 256, 256] as [UInt64] {
      _ = corrector.update(Self.noise(0.01), plain: plain, Self.room, at: now)
      #expect(corrector.isOn)
      for _ in 0..<4 { corrector.note(Self.lost(corrector.payload(Self.room)), plain: plain, Self.room, at: now) }
      #expect(!corrector.isOn)
      _ = corrector.update(Self.noise(0.01), plain: plain, Self.room, at: now + rest * 1_000_000_000 - 1)
      #expect(!corrector.isOn)
      now += rest * 1_000_000_000
    }
  }

  @Test("if frames are lost as rarely without correction as with it, the corrector does not count that as help")
  func bursts() {
    // A byte in 400 is wrong, but all of them in one frame of 40.
    var corrector = Corrector(most: Strength.count)
    var plain = FrameSizer(rate: ErrorRate(halfErrors: 200, in: 1_000_000))
    for _ in 0..<4 {
      _ = corrector.update(Self.noise(0.0025), plain: plain, Self.room, at: 0)
      for index in 1...20 {
        var trials = FrameSizer.Trials(overhead: Corrector.overhead)
        if index % 8 == 0 { trials.noteLoss(of: 300) } else { trials.noteArrival(of: 300) }
        corrector.note(trials, plain: plain, Self.room, at: 0)
        var others = FrameSizer.Trials()
        others.noteArrival(of: 300)
        plain.note(others)
        #expect(!corrector.isProven)
      }
    }
  }

  @Test("if the peer reports more noise, earlier losses do not count and the corrector starts a new trial")
  func rise() {
    var corrector = Corrector(most: Strength.count)
    let plain = FrameSizer(rate: ErrorRate(halfErrors: 20, in: 1000))
    let isWeak = [0.001, 0.02].map { share in
      let isWeak = corrector.update(Self.noise(share), plain: plain, Self.room, at: 0)
      corrector.note(Self.lost(64), plain: plain, Self.room, at: 0)
      return isWeak
    }
    #expect(isWeak == [false, true] && corrector.isOn)
  }

  @Test("if the peer reports uncorrectable errors, the corrector stops at every stage")
  func beyondCorrection() {
    let plain = FrameSizer(rate: ErrorRate(halfErrors: 2000, in: 1_000_000))
    for stage in ["off", "trying", "proven"] {
      var corrector = Corrector(most: Strength.count)
      if stage != "off" { _ = corrector.update(Self.noise(0.01), plain: plain, Self.room, at: 0) }
      if stage == "proven" {
        var trials = FrameSizer.Trials(overhead: Corrector.overhead)
        for _ in 0..<1000 { trials.noteArrival(of: 1000) }
        corrector.note(trials, plain: plain, Self.room, at: 0)
      }
      #expect(corrector.isOn == (stage != "off") && corrector.isProven == (stage == "proven"))
      let isWeak = corrector.update(.beyondCorrection, plain: plain, Self.room, at: 1)
      #expect(!isWeak)
      #expect(!corrector.isOn && corrector.errors == 0, "\(stage)")
      // A correction that is given up rests, even where the noise falls at once.
      _ = corrector.update(Self.noise(0.01), plain: plain, Self.room, at: 2)
      #expect(corrector.isOn == (stage == "off"))
    }
  }

  @Test("the frames of a trial are at most four times as long as frames that arrive without correction")
  func trial() {
    for (share, longest) in [(0.1, 64), (0.01, 128), (0.0001, 400)] {
      var corrector = Corrector(most: Strength.count)
      let plain = FrameSizer(rate: ErrorRate(halfErrors: UInt64(share * 2e6), in: 1_000_000))
      _ = corrector.update(Self.noise(share / 2), plain: plain, Self.room, at: 0)
      #expect(corrector.isOn && !corrector.isProven)
      #expect(corrector.payload(Self.room) <= longest)
    }
  }

  @Test("a corrected frame exceeds neither the peer's largest payload nor the longest time on the line")
  func sizes() {
    for (frame, payload) in [(195, 2048), (1843, 64), (16_393, 65_535), (73, 2048)] {
      let room = Corrector.Room(frame: frame, payload: payload)
      var corrector = Corrector(most: Strength.count)
      _ = corrector.update(Self.noise(0.02), plain: FrameSizer(), room, at: 0)
      var trials = FrameSizer.Trials(overhead: Corrector.overhead)
      for _ in 0..<1000 { trials.noteArrival(of: 1000) }
      corrector.note(trials, plain: FrameSizer(), room, at: 0)
      let size = corrector.payload(room)
      #expect(size >= min(payload, 16) && size <= payload)
      let body = size + 9
      let length = CorrectableFrame.length(of: body, corrector.strength(of: body, isData: true))
      #expect(size == 64 || length <= frame, "\(length) of \(frame)")
    }
  }
}
