/// What two ends of a line say to each other. docs/wire-protocol.md has the byte layouts.
package enum Frame: Equatable, Sendable {
  /// A listener is there. It knows of no session that it was asked about, or has just started.
  case hello(version: UInt8, incarnation: UInt32, largestPayload: UInt16, correction: UInt8 = 0)
  /// A dialer begins a session with the listener of that incarnation; 0 asks which one it is.
  case open(version: UInt8, session: SessionID, largestPayload: UInt16, window: UInt16, correction: UInt8 = 0)
  /// The session is over, or was never begun here.
  case reset(session: UInt32, reason: ResetReason)
  /// Asks for an acknowledgement with this token, at once.
  case poll(session: UInt32, token: UInt8)
  /// What has arrived, and how much more may.
  case acknowledgement(Acknowledgement)
  /// The noise that this end hears, when it has changed.
  case noise(Noise)
  /// Units of the stream.
  case data(DataHeader, payload: ArraySlice<UInt8>)

  /// What may come before there is a session.
  var isOpening: Bool {
    switch self {
    case .hello, .open: true
    case .reset, .poll, .acknowledgement, .noise, .data: false
    }
  }
}

/// What makes a session different from every other on this line: chosen by the dialer, and the listener it is meant for.
/// Its eight bytes seal the frames of the session, without being sent.
package struct SessionID: Equatable, Sendable {
  package var session: UInt32
  /// Of the listener; each start of it has another. 0 is none.
  package var incarnation: UInt32

  package init(session: UInt32, incarnation: UInt32) {
    self.session = session
    self.incarnation = incarnation
  }
}

package struct Acknowledgement: Equatable, Sendable {
  /// Of the poll that is answered.
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

/// Which units have arrived.
package struct Arrivals: Equatable, Sendable {
  /// The number of the first that has not.
  package var next: UInt16
  /// How many from there on are missing, how many after them have arrived, and so on. None is 0. What comes after the last run is
  /// missing where that is one of arrived units, and not told where it is one of missing units: the list was too long.
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
  /// Of the payload's first unit.
  package var number: UInt16
  /// The number of the first unit that has not arrived here, where that is worth the two bytes.
  package var next: UInt16?
  /// Nothing comes after this payload.
  package var isLast: Bool

  package init(number: UInt16, next: UInt16?, isLast: Bool) {
    self.number = number
    self.next = next
    self.isLast = isLast
  }
}

/// Why a session is over, as the wire tells it.
package enum ResetReason: UInt8, Sendable {
  /// In good order, all of it received: the answer to an end that has not heard so yet.
  case finished = 0
  /// Not known here.
  case unknown = 1
  /// Given up by its owner.
  case aborted = 2
  /// Nothing was heard for too long.
  case silence = 3
  /// The other end speaks a version that is unknown here.
  case version = 4
  /// Both ends dial.
  case bothDial = 5
}
