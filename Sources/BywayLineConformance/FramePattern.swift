/// A frame in the notation of scripts: a name and some of its fields. A frame to send has usual values in the other fields. In an expected
/// frame, the other fields are ignored.
package struct FramePattern: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    case hello, open, reset, poll, ack, answer, noise, data
    /// Any frame.
    case any
  }

  package enum Field: String, Sendable, CaseIterable {
    case version, incarnation, largest, session, window, reason, token, delay, next, arrived, piece, number, payload
    /// The list of runs in a frame to the end, for example `4+4+1`.
    case runs
    /// A number. DATA from the end must contain this unit or one ahead of it.
    case beyond
    /// Whether the frame is the last of its direction.
    case last
    /// The session for which the frame is sealed.
    case seal
    /// The correction that HELLO and OPEN announce.
    case correction
    /// The level of NOISE; `some` for any level but 0.
    case level
    /// The strength of the frame's correction; `none` if it must have no correction.
    case strength
    /// Errors in a frame with correction: wrong bytes of its first word and of its header, wrong bits of its sync word, and the number of
    /// bytes by which the header overstates the length.
    case wrong, header, sync, length
    /// Bytes after the known fields.
    case more
    /// The number of zeros before the frame, without the one that ended the previous frame.
    case zeros
  }

  package enum Value: Sendable, Equatable {
    case number(Int)
    /// A difference from the correct value, for example `+3` or `-3`.
    case offset(Int)
    case word(String)

    init(_ text: String) {
      if let first = text.first, first == "+" || first == "-", let number = Int(text) {
        self = .offset(number)
      } else if let number = Int(text) {
        self = .number(number)
      } else {
        self = .word(text)
      }
    }
  }

  package var kind: Kind
  package var fields: [Field: Value]

  subscript(field: Field) -> Value? { fields[field] }

  private static let ofCorrection: Set<Field> = [.strength, .wrong, .header, .sync, .length]

  /// Returns the fields that a frame of a kind may have in a script.
  static func known(_ kind: Kind) -> Set<Field> {
    switch kind {
    case .poll, .ack, .answer, .noise, .data: known(without: kind).union(ofCorrection)
    case .hello, .open, .reset, .any: known(without: kind)
    }
  }

  private static func known(without kind: Kind) -> Set<Field> {
    switch kind {
    case .hello: [.version, .incarnation, .largest, .correction, .more, .zeros]
    case .open: [.version, .session, .incarnation, .largest, .window, .correction, .more, .zeros]
    case .reset: [.session, .reason, .more, .zeros]
    case .poll: [.session, .token, .more, .zeros]
    case .ack: [.next, .window, .arrived, .runs, .seal, .zeros]
    case .answer: [.token, .delay, .next, .window, .arrived, .runs, .seal, .zeros]
    case .noise: [.level, .seal, .zeros]
    case .data: [.piece, .number, .payload, .last, .beyond, .seal, .zeros]
    case .any: []
    }
  }
}
