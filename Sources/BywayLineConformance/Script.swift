/// One check of an end of a line: frames to the end, and the frames that it must send within given times.
///
/// A value that is read from text, so that programs in other languages can play the same ones. docs/wire-protocol.md, section
/// 12, describes the text.
package struct Script: Sendable, Equatable {
  /// The role of the end under test.
  package enum Role: String, Sendable, CaseIterable {
    case dial, listen
  }

  /// A condition for a check besides two ends and a line.
  package enum Need: String, Sendable, CaseIterable {
    /// The line can be unplugged.
    case cut
    /// The session's owner sends and ends when the check says so, and is silent otherwise.
    case owner
    /// The session's owner returns what it receives, and ends when the peer does.
    case echo
    /// The end's program can be restarted.
    case start
    /// The end says that it mends frames.
    case correction
  }

  package var name: String
  /// The section of docs/wire-protocol.md.
  package var section: String
  package var roles: [Role]
  /// The state that the end is brought to first.
  package var state: String
  package var needs: Set<Need> = []
  /// A minimal end may fail it: appendix A.
  package var isOptional = false
  /// It waits for a timer of many seconds.
  package var isLong = false
  /// Its steps are repeated until the tester has sent so many units of DATA.
  package var units = 0
  package var steps: [Step] = []

  /// The strongest correction that the tester gives a frame; `nil` where it gives none.
  var strongest: Int? {
    steps.compactMap { step -> Int? in
      guard case .say(.frame(let pattern, _), _) = step.action, case .number(let strength) = pattern[.strength] else {
        return nil
      }
      return strength
    }.max()
  }
}

/// How an end is brought to a state of section 8.
package struct Opening: Sendable, Equatable {
  package var state: String
  package var role: Script.Role
  /// Why an end may be right though it cannot be brought there.
  package var excuse: String?
  package var steps: [Step] = []
}

/// Times are milliseconds.
package struct Step: Sendable, Equatable {
  package enum Action: Sendable, Equatable {
    /// To the end under test, so many times. Those that follow one another are one write.
    case say(Utterance, times: Int)
    /// The end must say this, counted from the step before. `isOnly`: and no HELLO, RESET or ANSWER before it. `isDoubled`: after about
    /// twice the time of the step before.
    case expect(FramePattern, isOnly: Bool, isDoubled: Bool, after: UInt64, within: UInt64)
    /// The end must not say this for so long.
    case refuse(FramePattern, for: UInt64)
    /// Waits until that time after the state was reached, and ignores the frames that arrive meanwhile.
    case wait(UInt64)
    /// The tester hears, but acknowledges and answers no more.
    case mute
    case cut, restore
    case owner(OwnerOrder)
  }

  package var action: Action
  /// The text of the step.
  package var text: String
}

package enum Utterance: Sendable, Equatable {
  case frame(FramePattern, isDamaged: Bool)
  /// Bytes that are sent unchanged.
  case bytes([UInt8])
  /// A body of one's own, with a check that holds.
  case body([UInt8])
  /// So many bytes more than the end's longest frame has, none of them zero, and a zero.
  case junk(Int)
  /// So many units of DATA, in frames as long as the end takes.
  case stretch(Int)
}

/// An order to the owner of the end's session.
package enum OwnerOrder: Sendable, Equatable {
  case send(Int)
  case finish
  /// It wants nothing more of the session.
  case leave
}
