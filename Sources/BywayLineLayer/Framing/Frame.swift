/// A frame of the protocol. docs/wire-protocol.md has the byte layouts.
package enum Frame: Equatable, Sendable {
  /// A listener is there. It knows of no session that it was asked about, or has just started.
  case hello(
    version: UInt8, incarnation: UInt32, largestPayload: UInt16, correction: UInt8 = 0, streams: StreamOffer = .none)
  /// A dialer begins a session with the listener of that incarnation; 0 asks which one it is.
  case open(
    version: UInt8, session: SessionID, largestPayload: UInt16, window: UInt16, correction: UInt8 = 0,
    streams: StreamOffer = .none)
  /// The session is over, or was never begun here.
  case reset(session: UInt32, reason: ResetReason)
  /// Asks for an acknowledgement with this token, at once.
  case poll(session: UInt32, token: UInt8)
  /// All units that have arrived, and the window.
  case acknowledgement(Acknowledgement)
  /// The noise that this end hears, when it has changed.
  case noise(Noise)
  /// Units of the stream.
  case data(DataHeader, payload: ArraySlice<UInt8>)

  /// Whether the frame may come before there is a session.
  var isOpening: Bool {
    switch self {
    case .hello, .open: true
    case .reset, .poll, .acknowledgement, .noise, .data: false
    }
  }

  /// Whether the frame may come with correction: behind the sync word of openings, or behind that of its session.
  func mayBearCorrection(asOpening isOpening: Bool) -> Bool {
    switch self {
    case .hello, .open: isOpening
    case .reset: false
    case .poll, .acknowledgement, .noise, .data: !isOpening
    }
  }
}

/// The name of a session: a number that the dialer chose, and the listener's incarnation. Its eight bytes seal the frames of the session,
/// without being sent.
package struct SessionID: Equatable, Sendable {
  package var session: UInt32
  /// The incarnation of the listener, which changes at each start of its program. 0 is none.
  package var incarnation: UInt32

  package init(session: UInt32, incarnation: UInt32) {
    self.session = session
    self.incarnation = incarnation
  }
}

package struct Acknowledgement: Equatable, Sendable {
  /// The answer to a POLL.
  package struct Answer: Equatable, Sendable {
    package var token: UInt8
    /// How long the answer had to wait for the line, its own bytes left out, in ``unit``s; 255 where it was longer.
    package var delay: UInt8

    /// Nanoseconds.
    static let unit: UInt64 = 500_000

    package init(token: UInt8, delay: UInt8) {
      self.token = token
      self.delay = delay
    }
  }

  package var answer: Answer?
  package var arrivals: Arrivals
  /// How many units from ``Arrivals/next`` on can be taken.
  package var window: UInt16

  package init(answer: Answer?, arrivals: Arrivals, window: UInt16) {
    self.answer = answer
    self.arrivals = arrivals
    self.window = window
  }
}

/// The units that have arrived.
package struct Arrivals: Equatable, Sendable {
  /// The number of the first that has not.
  package var next: UInt16
  /// The numbers of units from there on that are missing, of those after them that have arrived, and so on. None is 0. If the last run is
  /// one of arrived units, nothing after it has arrived; if it is one of missing units, the list was cut short.
  package var runs: [UInt16]

  /// Bytes of the longest list on the wire.
  package static let longestList = 32
  /// Bytes of a run on the wire.
  package static func length(of run: UInt16) -> Int { run < 0x80 ? 1 : 2 }

  package init(next: UInt16, runs: [UInt16] = []) {
    self.next = next
    self.runs = runs
  }
}

package struct DataHeader: Equatable, Sendable {
  /// The number of the payload's first unit.
  package var number: UInt16
  /// The number of the first unit that has not arrived here, where that is worth the two bytes.
  package var next: UInt16?
  /// Whether the payload is the last of its direction.
  package var isLast: Bool

  package init(number: UInt16, next: UInt16?, isLast: Bool) {
    self.number = number
    self.next = next
    self.isLast = isLast
  }
}

/// Why a session is over, as the wire tells it.
package enum ResetReason: UInt8, Sendable {
  /// A good end. It answers an end that has missed the last acknowledgement.
  case finished = 0
  /// The session is not known here.
  case unknown = 1
  /// Given up by its owner.
  case aborted = 2
  /// A silence that was too long.
  case silence = 3
  /// The other end speaks a version that is unknown here.
  case version = 4
  /// Both ends dial.
  case bothDial = 5
}
