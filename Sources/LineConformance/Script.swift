/// One check of an end of a line: what is said to it, and what it must say within which time.
///
/// A value that is read from text, so that programs in other languages can play the same ones. docs/wire-protocol.md, section
/// 12, describes the text.
package struct Script: Sendable, Equatable {
  /// Of the end under test.
  package enum Role: String, Sendable, CaseIterable {
    case dial, listen
  }

  /// What the check needs besides two ends and a line.
  package enum Need: String, Sendable, CaseIterable {
    /// The line can be unplugged.
    case cut
    /// Its owner sends and ends when it is told to, and is silent otherwise.
    case owner
    /// The end's program can be restarted.
    case start
    /// The end says that it mends frames.
    case correction
  }

  package var name: String
  /// Of docs/wire-protocol.md.
  package var section: String
  package var roles: [Role]
  /// The state that the end is brought to first.
  package var state: String
  package var needs: Set<Need> = []
  /// A minimal end may fail it: appendix A.
  package var isOptional = false
  /// It waits for a timer of many seconds.
  package var isLong = false
  package var steps: [Step] = []

  /// The strongest correction that the tester gives a frame; `nil` where it gives none.
  var strongest: Int? {
    steps.compactMap { step -> Int? in
      guard case .say(.frame(let pattern, _)) = step.action, case .number(let strength) = pattern[.strength] else {
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
    /// To the end under test. Those that follow one another are one write.
    case say(Utterance)
    /// The end must say this, counted from the step before. `isOnly`: and no HELLO, RESET or ANSWER before it.
    case expect(FramePattern, isOnly: Bool, after: UInt64, within: UInt64)
    /// The end must not say this for so long.
    case refuse(FramePattern, for: UInt64)
    /// Until so long after the state was reached, whatever is said meanwhile.
    case wait(UInt64)
    /// The tester hears, but acknowledges and answers no more.
    case mute
    case cut, restore
    case owner(OwnerOrder)
  }

  package var action: Action
  /// As it was written.
  package var text: String
}

package enum Utterance: Sendable, Equatable {
  case frame(FramePattern, isDamaged: Bool)
  /// As it is, with nothing added.
  case bytes([UInt8])
  /// A body of one's own, with a check that holds.
  case body([UInt8])
  /// So many bytes more than the end's longest frame has, none of them zero, and a zero.
  case junk(Int)
}

/// What the end's owner is told to do.
package enum OwnerOrder: Sendable, Equatable {
  case send(Int)
  case finish
  /// It wants nothing more of the session.
  case leave
}
