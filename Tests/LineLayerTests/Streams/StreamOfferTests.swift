import Testing

@testable import BywayLineLayer

@Suite("Announcement of streams")
struct StreamOfferTests {
  private static let four = StreamOffer(count: 4, credit: 2)
  private static let most = StreamOffer(count: 16, credit: 255)

  /// Lets a dialer and a listener begin a session, and returns what each takes it for.
  private static func agree(
    _ dialing: StreamOffer, _ listening: StreamOffer
  ) -> (dialer: StreamAgreement?, listener: StreamAgreement?) {
    var configuration = LineLayerConfiguration.defaults
    configuration.streams = listening
    var listener = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
    var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
    dialer.open(session: 1, streams: dialing, at: 0)
    for time in 0..<5 as Range<UInt64> {
      listener.receive(dialer.transmit(at: time * 20_000_000), at: time * 20_000_000)
      dialer.receive(listener.transmit(at: time * 20_000_000), at: time * 20_000_000)
    }
    #expect(dialer.session?.isConfirmed == true && listener.session?.isConfirmed == true)
    return (dialer.streams, listener.streams)
  }

  @Test("a session has as many streams as both ends take, with the credit of each")
  func agreement() {
    let (dialer, listener) = Self.agree(Self.most, Self.four)
    #expect(dialer?.count == 4 && dialer?.ownCredit == 16_320 && dialer?.peerCredit == 128)
    #expect(listener?.count == 4 && listener?.ownCredit == 128 && listener?.peerCredit == 16_320)
  }

  @Test("a session with an end that announces none is one stream of bytes at both ends")
  func olderEnds() {
    for (dialing, listening) in [(Self.most, .none), (.none, Self.four), (StreamOffer.none, StreamOffer.none)] {
      let (dialer, listener) = Self.agree(dialing, listening)
      #expect(dialer == nil && listener == nil)
    }
  }

  @Test("an OPEN announces streams only to a listener that takes some")
  func announced() {
    for streams in [StreamOffer.none, Self.four] {
      var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
      dialer.open(session: 1, streams: Self.most, at: 0)
      let asked = dialer.sentFrames(at: 0)
      dialer.receive(.hello(version: 1, incarnation: 7, largestPayload: 64, correction: 0, streams: streams), at: 1)
      let opened = dialer.sentFrames(at: 1)
      for (frame, expected) in [(asked.first, StreamOffer.none), (opened.first, streams == .none ? .none : Self.most)] {
        guard case .open(_, _, _, _, _, let told) = frame else {
          Issue.record("it sent no OPEN")
          continue
        }
        #expect(told == expected)
      }
    }
  }

  @Test("values out of range count as the nearest in range")
  func ranges() {
    #expect(StreamOffer(count: 200, credit: 0) == StreamOffer(count: 16, credit: 1))
    #expect(StreamOffer(count: 0, credit: 9) == .none)
  }
}
