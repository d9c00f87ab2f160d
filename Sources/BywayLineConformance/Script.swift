/// A check of an end of a line: the frames to send, and the frames that the end must send within given times.
///
/// A value that is read from text, so that programs in other languages can run the same scripts. docs/wire-protocol.md, section 12,
/// describes the text.
package struct Script: Sendable, Equatable {
  /// The role of the end under test.
  package enum Role: String, Sendable, CaseIterable {
    case dial, listen
  }

  /// A facility that a check needs besides two ends and a line.
  package enum Need: String, Sendable, CaseIterable {
    /// The line can be unplugged.
    case cut
    /// The owner of the session sends and ends as the script says, and not otherwise.
    case owner
    /// The owner of the session returns what it receives, and ends its direction when the peer does.
    case echo
    /// The end's program can be restarted.
    case start
    /// The end supports error correction.
    case correction
  }

  package var name: String
  /// The section of docs/wire-protocol.md.
  package var section: String
  package var roles: [Role]
  /// The state that the end must be in at the beginning.
  package var state: String
  package var needs: Set<Need> = []
  /// Whether a minimal end may fail: docs/wire-protocol.md, appendix A.
  package var isOptional = false
  /// Whether the check waits for a timer of many seconds.
  package var isLong = false
  /// The steps are repeated until the tester has sent this many units of DATA.
  package var units = 0
  package var steps: [Step] = []

  /// The greatest strength of a frame of the tester; `nil` if none has correction.
  var strongest: Int? {
    steps.compactMap { step -> Int? in
      guard case .send(.frame(let pattern, _), _) = step.action, case .number(let strength) = pattern[.strength] else {
        return nil
      }
      return strength
    }.max()
  }
}

/// The steps that bring an end into a state of section 8.
package struct Opening: Sendable, Equatable {
  package var state: String
  package var role: Script.Role
  /// The reason why a correct end may not reach the state; `nil` if it always must.
  package var excuse: String?
  package var steps: [Step] = []
}

/// A step of a script. Times are milliseconds.
package struct Step: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    /// Sends to the end under test, `times` times. Consecutive steps of this kind are one write.
    case send(Transmission, times: Int)
    /// Expects this frame; times count from the previous step. `isOnly`: no HELLO, RESET or ANSWER may come before it. `isDoubled`: it
    /// comes after about twice the time of the previous step.
    case expect(FramePattern, isOnly: Bool, isDoubled: Bool, after: UInt64, within: UInt64)
    /// Checks that the end does not send this frame during this time.
    case refuse(FramePattern, for: UInt64)
    /// Waits until this time after the state was reached, and drops the frames that arrive meanwhile.
    case wait(UInt64)
    /// Keeps receiving, without acknowledging and answering.
    case mute
    case cut, restore
    case owner(OwnerOrder)
  }

  package var action: Action
  /// The text of the step.
  package var text: String
}

package enum Transmission: Sendable, Equatable {
  case frame(FramePattern, isDamaged: Bool)
  /// Bytes that are sent unchanged.
  case bytes([UInt8])
  /// A body of any content, with a valid check.
  case body([UInt8])
  /// A run that is this many bytes longer than the longest frame of the end. It has no zeros but the last byte.
  case junk(Int)
  /// This many units of DATA, in frames of the largest size that the end accepts.
  case stretch(Int)
}

/// An order to the owner of the session of the end under test.
package enum OwnerOrder: Sendable, Equatable {
  case send(Int)
  case finish
  /// Closes the session.
  case leave
}
