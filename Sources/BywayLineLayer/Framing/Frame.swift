/// A frame of the protocol. docs/wire-protocol.md has the byte layouts.
package enum Frame: Equatable, Sendable {
  /// The listener has started, or does not know the session in an OPEN.
  case hello(
    version: UInt8, incarnation: UInt32, largestPayload: UInt16, correction: UInt8 = 0, streams: StreamOffer = .none)
  /// The dialer begins a session with the listener of this incarnation; incarnation 0 asks for it.
  case open(
    version: UInt8, session: SessionID, largestPayload: UInt16, window: UInt16, correction: UInt8 = 0,
    streams: StreamOffer = .none)
  /// The session is over, or is not known to the sender.
  case reset(session: UInt32, reason: ResetReason)
  /// Asks for an immediate acknowledgement with this token.
  case poll(session: UInt32, token: UInt8)
  /// An acknowledgement: the units that have arrived, and the window.
  case acknowledgement(Acknowledgement)
  /// The noise that the sender of the frame receives.
  case noise(Noise)
  /// Units of the stream.
  case data(DataHeader, payload: ArraySlice<UInt8>)

  /// Whether the frame may come without a session.
  var isOpening: Bool {
    switch self {
    case .hello, .open: true
    case .reset, .poll, .acknowledgement, .noise, .data: false
    }
  }

  /// Whether the frame may have correction after this kind of sync word: that of openings, or that of its session.
  func mayHaveCorrection(asOpening isOpening: Bool) -> Bool {
    switch self {
    case .hello, .open: isOpening
    case .reset: false
    case .poll, .acknowledgement, .noise, .data: !isOpening
    }
  }
}

/// The name of a session: a number that the dialer chose, and the incarnation of the listener. The check of a frame covers these eight
/// bytes, although they are not sent.
package struct SessionID: Equatable, Sendable {
  package var session: UInt32
  /// The incarnation of the listener: a number that is new at each start of its program; 0 for none.
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
    /// The time that the answer waited for the line, in ``unit``s and without its own bytes; 255 if it was longer.
    package var delay: UInt8

    /// Half a millisecond, in nanoseconds.
    static let unit: UInt64 = 500_000

    package init(token: UInt8, delay: UInt8) {
      self.token = token
      self.delay = delay
    }
  }

  package var answer: Answer?
  package var arrivals: Arrivals
  /// The number of units from ``Arrivals/next`` on that the receiver accepts.
  package var window: UInt16

  package init(answer: Answer?, arrivals: Arrivals, window: UInt16) {
    self.answer = answer
    self.arrivals = arrivals
    self.window = window
  }
}

/// The units that have arrived.
package struct Arrivals: Equatable, Sendable {
  /// The number of the first missing unit.
  package var next: UInt16
  /// The lengths of runs from there on: missing units, units that have arrived, and so on. None is 0. If the last run is one of arrived
  /// units, nothing has arrived after it. If it is one of missing units, the list is incomplete.
  package var runs: [UInt16]

  /// The longest list in bytes on the wire.
  package static let longestList = 32
  /// Returns the bytes of a run on the wire.
  package static func length(of run: UInt16) -> Int { run < 0x80 ? 1 : 2 }

  package init(next: UInt16, runs: [UInt16] = []) {
    self.next = next
    self.runs = runs
  }
}

package struct DataHeader: Equatable, Sendable {
  /// The number of the payload's first unit.
  package var number: UInt16
  /// The number of the first missing unit in the other direction. It is sent only where it is useful, because it takes two bytes.
  package var next: UInt16?
  /// Whether the payload ends its direction of the stream.
  package var isLast: Bool

  package init(number: UInt16, next: UInt16?, isLast: Bool) {
    self.number = number
    self.next = next
    self.isLast = isLast
  }
}

/// The reason in a RESET.
package enum ResetReason: UInt8, Sendable {
  /// The session ended normally. This answers a peer that has missed the last acknowledgement.
  case finished = 0
  /// The session is not known to the sender.
  case unknown = 1
  /// The owner of the session gave up.
  case aborted = 2
  /// The peer was silent for too long.
  case silence = 3
  /// The sender does not know the version of the peer.
  case version = 4
  /// Both ends dial.
  case bothDial = 5
}
