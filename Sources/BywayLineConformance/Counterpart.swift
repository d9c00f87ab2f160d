import BywayLineLayer

/// The end that the tester plays: what it has heard of the end under test, and what a good peer says without being told.
struct Counterpart: Sendable {
  enum Phase: Equatable {
    case none, opening, open, over
  }

  /// The role of the end under test.
  let role: Script.Role
  private(set) var phase = Phase.none
  /// The session that is spoken of, and the listener's incarnation, which is the tester's own where the end dials.
  private(set) var id: SessionID
  /// The session before.
  private(set) var past: UInt32 = 0
  /// Hears, and does not answer.
  var isMuted = false
  /// Tells a dialer which asks who is there.
  var greets = true

  /// A script runs, and speaks of its session, whatever else a dialer begins.
  var isBusy = false

  var stimulus = Stimulus()
  /// Pieces that were said, and how long those are that were.
  var said = 0
  var lengths: [Int: Int] = [:]
  /// The number of each piece up to the first that was not said in order.
  var starts = [0]
  /// The number of the first DATA that has not arrived: all comes in order here, and while muted nothing does.
  private(set) var heardNumber: UInt16 = 0
  /// The number behind the latest DATA, muted or not.
  private(set) var heardEnd: UInt16 = 0
  /// The offered window, in units of 16 bytes.
  var window = Self.usualWindow
  /// The number of the first unit that the end does not take yet.
  private(set) var limit = Self.firstWindow
  /// The largest payload that the end has announced.
  private(set) var largestPayload: UInt16 = 2048
  /// How many strengths the end says that it mends.
  private(set) var endMends: UInt8 = 0
  /// The end returns what it receives.
  var isEcho = false
  /// The listener's incarnation as it was heard first, and POLLs that it has not answered yet.
  private var heardIncarnation: UInt32?
  private var openTokens: Set<UInt8> = []
  /// The token of the latest POLL to the end, and of the latest from it.
  var asked: UInt8 = 0
  private(set) var heardToken: UInt8 = 0
  private var state: UInt64

  private static let usualWindow: UInt16 = 8192
  /// Units that a dialer may send before it knows the listener's window.
  private static let firstWindow: UInt16 = 256
  /// How many strengths the tester says that it mends.
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
    said = 0
    lengths = [:]
    starts = [0]
    openTokens = []
    heardNumber = 0
    heardEnd = 0
    window = Self.usualWindow
    limit = Self.firstWindow
    isMuted = false
  }

  // MARK: Frames to the end

  mutating func noteSaid(_ frame: Frame) {
    switch frame {
    case .reset(let session, let reason):
      // An end that is asked to open again goes on.
      if session == id.session, reason != .unknown { phase = .over }
    case .poll(_, let token):
      openTokens.insert(token)
      if role == .dial, phase == .opening { phase = .open }
    case .acknowledgement, .noise, .data: if role == .dial, phase == .opening { phase = .open }
    case .hello, .open: break
    }
  }

  // MARK: Frames from the end

  /// Two programs that have the same device answer both, or get a part of what comes each.
  /// - Returns: why it is certain that there are two.
  mutating func noteProgram(_ frame: Frame) -> String? {
    switch frame {
    case .hello(_, let incarnation, _, _, _) where role == .listen && incarnation != 0:
      defer { heardIncarnation = incarnation }
      guard let heardIncarnation, heardIncarnation != incarnation else { return nil }
      return "two programs use this device, or one that was restarted: HELLO told another incarnation than before"
    case .acknowledgement(let report):
      guard let token = report.answer?.token, token == asked else { return nil }
      return openTokens.remove(token) == nil ? "two programs use this device: one POLL was answered twice" : nil
    default: return nil
    }
  }

  /// Returns what a correct peer answers at once.
  mutating func hear(_ frame: Frame) -> Frame? {
    switch frame {
    case .hello(_, let incarnation, let largest, let correction, _):
      guard role == .listen else { return nil }
      endMends = correction
      id.incarnation = incarnation
      largestPayload = largest
      return nil
    case .open(_, let other, let largest, let window, let correction, _):
      guard role == .dial else { return nil }
      endMends = correction
      return opened(by: other, largestPayload: largest, window: window)
    case .reset(let session, _):
      if session == id.session { phase = .over }
      return nil
    case .poll(let session, let token):
      guard session == id.session else { return nil }
      heardToken = token
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
    guard other.incarnation != id.incarnation, greets else {
      return phase == .open && !isMuted ? report(answer: nil) : nil
    }
    return .hello(
      version: FrameCodec.version, incarnation: id.incarnation, largestPayload: 2048, correction: Self.usualCorrection)
  }

  private mutating func offered(_ units: UInt16, from next: UInt16) {
    limit = next &+ min(units, UInt16(Unit.largestWindow))
  }

  private mutating func took(_ header: DataHeader, _ payload: ArraySlice<UInt8>) -> Frame? {
    heardEnd = header.number &+ UInt16(truncatingIfNeeded: Self.numbers(of: payload.count))
    if !isEcho, Stimulus.isEcho(payload) { isEcho = true }
    // An echo of what the tester has said tells nothing.
    if header.number == 0, !payload.isEmpty, said == 0 {
      stimulus.isServer = payload.starts(with: Stimulus.clientPreface.prefix(payload.count))
    }
    guard !isMuted, phase == .open else { return nil }
    if header.number == heardNumber { heardNumber = heardEnd }
    return report(answer: nil)
  }
}
