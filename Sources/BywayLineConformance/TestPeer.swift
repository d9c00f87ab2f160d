import BywayLineLayer

/// The peer that the tester plays: what it has received from the end under test, and what a correct peer sends without a step of the
/// script.
struct TestPeer: Sendable {
  enum Phase: Equatable {
    case none, opening, open, over
  }

  /// The role of the end under test.
  let role: Script.Role
  private(set) var phase = Phase.none
  /// The session of the script. Its incarnation is that of the listener, which is the tester if the end under test dials.
  private(set) var id: SessionID
  /// The previous session.
  private(set) var past: UInt32 = 0
  /// Whether to receive without answering.
  var isMuted = false
  /// Whether to answer the OPEN of a dialer that asks for the incarnation.
  var answersOpenings = true

  /// Whether a script is running. Its session stays current even if a dialer begins another one.
  var isBusy = false

  var stimulus = Stimulus()
  /// The number of pieces that were sent, and the length of each in bytes.
  var sentPieces = 0
  var lengths: [Int: Int] = [:]
  /// The first unit of each piece, up to the first piece that was sent out of order.
  var starts = [0]
  /// The number of the first unit that has not arrived. DATA arrives in order. While muted, it does not count as arrived.
  private(set) var receivedNumber: UInt16 = 0
  /// The number after the latest DATA, whether muted or not.
  private(set) var receivedEnd: UInt16 = 0
  /// The offered window, in units of 16 bytes.
  var window = Self.usualWindow
  /// The number of the first unit outside the window of the end.
  private(set) var limit = Self.firstWindow
  /// The largest payload that the end has announced.
  private(set) var largestPayload: UInt16 = 2048
  /// The number of strengths that the end supports; 0 if it supports no correction.
  private(set) var endCorrection: UInt8 = 0
  /// Whether the end returns what it receives.
  var isEcho = false
  /// The first incarnation that the listener sent, and the POLLs that it has not answered.
  private var firstIncarnation: UInt32?
  private var openTokens: Set<UInt8> = []
  /// The token of the latest POLL to the end, and of the latest one from it.
  var asked: UInt8 = 0
  private(set) var receivedToken: UInt8 = 0
  private var state: UInt64

  private static let usualWindow: UInt16 = 8192
  /// The number of units that a dialer may send before it knows the window of the listener.
  private static let firstWindow: UInt16 = 256
  /// The number of strengths that the tester announces.
  static let usualCorrection: UInt8 = 12

  init(of role: Script.Role, seed: UInt64) {
    self.role = role
    state = seed
    id = SessionID(session: 0, incarnation: 0)
    id.session = random()
    if role == .dial { id.incarnation = random() | 1 }
  }

  var otherID: SessionID { SessionID(session: id.session, incarnation: id.incarnation ^ 0x0101_0101) }

  /// SplitMix64 (Steele, Lea and Flood, 2014).
  mutating func random() -> UInt32 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return UInt32(truncatingIfNeeded: mixed >> 32)
  }

  mutating func beginSession(_ session: UInt32) {
    past = id.session
    id.session = session
    phase = .opening
    sentPieces = 0
    lengths = [:]
    starts = [0]
    openTokens = []
    receivedNumber = 0
    receivedEnd = 0
    window = Self.usualWindow
    limit = Self.firstWindow
    isMuted = false
  }

  // MARK: Frames to the end

  mutating func noteSaid(_ frame: Frame) {
    switch frame {
    case .reset(let session, let reason):
      // A RESET that asks the end to open again does not end the test session.
      if session == id.session, reason != .unknown { phase = .over }
    case .poll(_, let token):
      openTokens.insert(token)
      if role == .dial, phase == .opening { phase = .open }
    case .acknowledgement, .noise, .data: if role == .dial, phase == .opening { phase = .open }
    case .hello, .open: break
    }
  }

  // MARK: Frames from the end

  /// Detects two programs at the same device: both answer, or each gets a part of the bytes.
  /// - Returns: the evidence for two programs; `nil` if there is none.
  mutating func noteProgram(_ frame: Frame) -> String? {
    switch frame {
    case .hello(_, let incarnation, _, _, _) where role == .listen && incarnation != 0:
      defer { firstIncarnation = incarnation }
      guard let firstIncarnation, firstIncarnation != incarnation else { return nil }
      return "two programs use this device, or one that was restarted: HELLO told another incarnation than before"
    case .acknowledgement(let report):
      guard let token = report.answer?.token, token == asked else { return nil }
      return openTokens.remove(token) == nil ? "two programs use this device: one POLL was answered twice" : nil
    default: return nil
    }
  }

  /// Takes a frame, and returns the frame that a correct peer answers at once.
  mutating func receive(_ frame: Frame) -> Frame? {
    switch frame {
    case .hello(_, let incarnation, let largest, let correction, _):
      guard role == .listen else { return nil }
      endCorrection = correction
      id.incarnation = incarnation
      largestPayload = largest
      return nil
    case .open(_, let other, let largest, let window, let correction, _):
      guard role == .dial else { return nil }
      endCorrection = correction
      return opened(by: other, largestPayload: largest, window: window)
    case .reset(let session, _):
      if session == id.session { phase = .over }
      return nil
    case .poll(let session, let token):
      guard session == id.session else { return nil }
      receivedToken = token
      return isMuted || phase != .open ? nil : report(answer: .init(token: token, delay: 0))
    case .acknowledgement(let report):
      offered(report.window, from: report.arrivals.next)
      if phase == .opening { phase = .open }
      return nil
    case .noise:
      if phase == .opening { phase = .open }
      return nil
    case .data(let header, let payload): return took(header, payload)
    }
  }

  private mutating func opened(by other: SessionID, largestPayload largest: UInt16, window: UInt16) -> Frame? {
    if other.session != id.session || phase == .none || phase == .over {
      guard !isBusy else { return nil }
      beginSession(other.session)
      largestPayload = largest
      offered(window, from: 0)
    }
    guard other.incarnation != id.incarnation, answersOpenings else {
      return phase == .open && !isMuted ? report(answer: nil) : nil
    }
    return .hello(
      version: FrameCodec.version, incarnation: id.incarnation, largestPayload: 2048, correction: Self.usualCorrection)
  }

  private mutating func offered(_ units: UInt16, from next: UInt16) {
    limit = next &+ min(units, UInt16(Unit.largestWindow))
  }

  private mutating func took(_ header: DataHeader, _ payload: ArraySlice<UInt8>) -> Frame? {
    receivedEnd = header.number &+ UInt16(truncatingIfNeeded: Self.numbers(of: payload.count))
    if !isEcho, Stimulus.isEcho(payload) { isEcho = true }
    // An echo of the tester's own frame says nothing about the end's stream.
    if header.number == 0, !payload.isEmpty, sentPieces == 0 {
      stimulus.isServer = payload.starts(with: Stimulus.clientPreface.prefix(payload.count))
    }
    guard !isMuted, phase == .open else { return nil }
    if header.number == receivedNumber { receivedNumber = receivedEnd }
    return report(answer: nil)
  }
}
