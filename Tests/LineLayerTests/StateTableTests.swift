import Testing

@testable import BywayLineLayer

/// The table in section 8 of docs/wire-protocol.md, row by row.
@Suite("State table of the protocol")
struct StateTableTests {
  enum State: CaseIterable {
    case waiting, listening, none, asking, opening, open

    var isDialer: Bool { self != .waiting && self != .listening }
  }

  /// The visible part of a reaction.
  enum Reaction: Equatable {
    case nothing
    case over(SessionEnd)
    case says(Frame)
    case endsSaying(SessionEnd, Frame)
    /// OPEN goes out with an incarnation, and data may follow.
    case opens(UInt32)
    case opened
    case answers
    case takes
  }

  static let own = SessionID(session: 5, incarnation: 7)
  static let report = Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 100)
  static let frames: [(name: String, frame: Frame, seal: SessionID)] = [
    ("HELLO, version unknown", .hello(version: 9, incarnation: 7, largestPayload: 2048), own),
    ("HELLO, incarnation 0", .hello(version: 1, incarnation: 0, largestPayload: 2048), own),
    ("HELLO, the same", .hello(version: 1, incarnation: 7, largestPayload: 2048), own),
    ("HELLO, another", .hello(version: 1, incarnation: 8, largestPayload: 2048), own),
    ("OPEN, asking", open(SessionID(session: 5, incarnation: 0)), own),
    ("OPEN, own", open(own), own),
    ("OPEN, new", open(SessionID(session: 6, incarnation: 7)), own),
    ("OPEN, version unknown", open(SessionID(session: 6, incarnation: 7), version: 2), own),
    ("RESET, own", .reset(session: 5, reason: .aborted), own),
    ("RESET, own, unknown", .reset(session: 5, reason: .unknown), own),
    ("RESET, other", .reset(session: 6, reason: .aborted), own),
    ("POLL, own", .poll(session: 5, token: 3), own),
    ("POLL, other", .poll(session: 6, token: 3), own),
    ("ACK, own", .acknowledgement(report), own),
    ("ACK, other", .acknowledgement(report), SessionID(session: 6, incarnation: 7)),
    ("DATA, own", .data(DataHeader(number: 0, next: nil, isLast: false), payload: [1]), own),
    (
      "DATA, other", .data(DataHeader(number: 0, next: nil, isLast: false), payload: [1]),
      SessionID(session: 5, incarnation: 8)
    ),
  ]

  static func open(_ id: SessionID, version: UInt8 = 1) -> Frame {
    .open(version: version, session: id, largestPayload: 2048, window: 100)
  }

  private static func layer(in state: State) -> LineLayer {
    var configuration = LineLayerConfiguration.defaults
    configuration.acknowledgementDelay = 0
    var layer = LineLayer(state.isDialer ? .dialer : .listener(incarnation: 7), configuration: configuration, at: 0)
    switch state {
    case .waiting, .none: break
    case .listening: layer.receive(open(own), at: 0)
    case .asking: layer.open(session: 5, at: 0)
    case .opening, .open:
      layer.receive(.hello(version: 1, incarnation: 7, largestPayload: 2048), at: 0)
      layer.open(session: 5, at: 0)
      _ = layer.transmit(at: 0)
      if state == .open { layer.receive(.acknowledgement(report), at: 0) }
    }
    _ = layer.transmit(at: 0)
    _ = layer.takeEvents()
    return layer
  }

  private static func expected(_ state: State, _ name: String) -> Reaction {
    let bothDial = { (session: UInt32) in
      let answer = Frame.reset(session: session, reason: .bothDial)
      let end = session == 5 ? SessionEnd.echo : .bothDial
      return state == .asking || state == .opening ? Reaction.endsSaying(end, answer) : .says(answer)
    }
    let hello = Reaction.says(.hello(version: 1, incarnation: 7, largestPayload: 2048, correction: 12))
    let isKnown = state == .opening || state == .open
    switch name {
    case "HELLO, version unknown": return isKnown || state == .asking ? .over(.version(9)) : .nothing
    case "HELLO, the same": return state == .asking ? .opens(7) : .nothing
    case "HELLO, another": return state == .asking ? .opens(8) : isKnown ? .over(.peerRestarted) : .nothing
    case "OPEN, asking": return state.isDialer ? bothDial(5) : hello
    case "OPEN, own": return state.isDialer ? bothDial(5) : state == .waiting ? .opened : .takes
    case "OPEN, new": return state.isDialer ? bothDial(6) : .opened
    case "OPEN, version unknown":
      return state.isDialer ? bothDial(6) : .says(.reset(session: 6, reason: .version))
    case "RESET, own": return state == .waiting || state == .none ? .nothing : .over(.aborted)
    case "RESET, own, unknown":
      switch state {
      case .waiting, .none: return .nothing
      case .asking: return .opens(0)
      case .opening: return .opens(7)
      case .listening, .open: return .over(.peerRestarted)
      }
    case "POLL, own":
      switch state {
      case .waiting, .none: return .says(.reset(session: 5, reason: .unknown))
      case .asking: return .nothing
      default: return .answers
      }
    case "POLL, other": return .says(.reset(session: 6, reason: .unknown))
    case "ACK, own": return state == .opening ? .takes : .nothing
    case "DATA, own": return state == .listening || isKnown ? .takes : .nothing
    default: return .nothing
    }
  }

  @Test(
    "each frame in each state has the effect that docs/wire-protocol.md states", arguments: State.allCases,
    frames.indices)
  func table(_ state: State, _ index: Int) {
    let (name, frame, seal) = Self.frames[index]
    var layer = Self.layer(in: state)
    layer.receive(frame, seal: seal, at: 1)
    let events = layer.takeEvents()
    let sent = layer.sentFrames(at: 1)
    let comment = Comment(rawValue: "\(state) × \(name): \(events) \(sent)")
    switch Self.expected(state, name) {
    case .nothing:
      #expect(events.isEmpty && sent.isEmpty, comment)
    case .over(let end):
      #expect(events == [.ended(end)] && sent.isEmpty && !layer.hasSession, comment)
    case .says(let answer):
      #expect(events.isEmpty && sent == [answer], comment)
    case .endsSaying(let end, let answer):
      #expect(events == [.ended(end)] && sent == [answer] && !layer.hasSession, comment)
    case .opens(let incarnation):
      guard case .open(_, let id, _, _, _, _) = sent.first else {
        Issue.record(comment)
        return
      }
      #expect(id == SessionID(session: 5, incarnation: incarnation), comment)
    case .opened:
      #expect(events.suffix(2) == [.ready, .confirmed], comment)
      #expect(
        sent == [.acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 8192))], comment)
    case .answers:
      guard case .acknowledgement(let report) = sent.first else {
        Issue.record(comment)
        return
      }
      #expect(report.answer == .init(token: 3, delay: 0), comment)
    case .takes:
      let arrived = events.flatMap(\.bytes)
      #expect(name == "DATA, own" ? arrived == [1] && !sent.isEmpty : arrived.isEmpty, comment)
      #expect((state == .opening) == events.contains(.confirmed), comment)
    }
  }

  @Test("in a session, a frame with correction has the same effect as one without", arguments: State.allCases)
  func correction(_ state: State) {
    let poll = CorrectionCodec.bytes(of: .poll(session: 5, token: 3), Strength(index: 2), seal: Self.own) + [0]
    var layer = Self.layer(in: state)
    layer.receive(poll, at: 1)
    let sent = layer.sentFrames(at: 1)
    guard state == .listening || state == .opening || state == .open else {
      #expect(sent.isEmpty)
      return
    }
    guard case .acknowledgement(let report) = sent.first else {
      Issue.record("no answer")
      return
    }
    #expect(report.answer == .init(token: 3, delay: 0))
  }

  @Test("if a dialer hears HELLO before it opens a session, it does not ask for the incarnation")
  func keepsIncarnation() {
    var layer = Self.layer(in: .none)
    layer.receive(.hello(version: 1, incarnation: 8, largestPayload: 100), at: 1)
    layer.open(session: 5, at: 1)
    #expect(layer.takeEvents() == [.ready])
    #expect(layer.session?.id.incarnation == 8)
  }
}
