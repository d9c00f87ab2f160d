/// What two ends of a line say to each other. docs/wire-protocol.md has the byte layouts.
package enum Frame: Equatable, Sendable {
  /// A listener is there. It knows of no session that it was asked about, or has just started.
  case hello(version: UInt8, incarnation: UInt32, largestPayload: UInt16)
  /// A dialler begins a session with the listener of that incarnation; 0 asks which one it is.
  case open(version: UInt8, session: SessionID, largestPayload: UInt16, window: UInt16)
  /// The session is over, or was never begun here.
  case reset(session: UInt32, reason: ResetReason)
  /// Asks for an acknowledgement with this token, at once.
  case poll(session: UInt32, token: UInt8)
  /// What has arrived, and how much more may.
  case acknowledgement(Acknowledgement)
  /// A piece of the stream.
  case data(DataHeader, payload: ArraySlice<UInt8>)
}

/// What makes a session different from every other on this line: chosen by the dialler, and the listener it is meant for.
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
  /// The number of the first frame that has not arrived.
  package var next: UInt16
  /// How many bytes of payload from there on can be taken, in ``unit``s.
  package var window: UInt16
  /// Bit n, lowest first, stands for frame `next + 1 + n`: set where it has arrived.
  package var arrived: [UInt8]

  package static let unit = 16

  package init(answer: Answer?, next: UInt16, window: UInt16, arrived: [UInt8]) {
    self.answer = answer
    self.next = next
    self.window = window
    self.arrived = arrived
  }
}

package struct DataHeader: Equatable, Sendable {
  package var number: UInt16
  /// The number of the first frame that has not arrived here, where that is worth the two bytes.
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
