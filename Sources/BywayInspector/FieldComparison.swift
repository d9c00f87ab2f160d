import HTTPWire
import Primitives

/// Fields at one side of this hop beside those at the other: what has been added, changed and taken away in between.
struct FieldComparison {
  enum Mark: Equatable {
    case same
    case added
    case changed(from: String)
    case removed
  }

  struct Line: Equatable {
    let name: String
    let value: String
    let mark: Mark
  }

  /// Those of `after`, and then those that only `before` has.
  let lines: [Line]

  /// - Parameters:
  ///   - before: `nil` where only one side is known.
  ///   - after: what counts.
  init(from before: FieldSection?, to after: FieldSection) {
    guard let before else {
      lines = after.pairs.map { Line(name: $0.name, value: $0.value, mark: .same) }
      return
    }
    var left: [(name: String, value: String)] = before.pairs
    // First what has stayed, so that one of several of a name does not pass for another.
    var marks: [Mark?] = after.pairs.map { pair in
      guard let place = left.firstIndex(where: { $0 == pair }) else { return nil }
      left.remove(at: place)
      return .same
    }
    for (index, pair) in after.pairs.enumerated() where marks[index] == nil {
      if let place = left.firstIndex(where: { $0.name == pair.name }) {
        marks[index] = .changed(from: left.remove(at: place).value)
      } else {
        marks[index] = .added
      }
    }
    lines =
      zip(after.pairs, marks).map { Line(name: $0.name, value: $0.value, mark: $1 ?? .same) }
      + left.map { Line(name: $0.name, value: $0.value, mark: .removed) }
  }
}

extension FieldSection {
  /// Names in lower case; without what stands for the message's first line.
  fileprivate var pairs: [(name: String, value: String)] {
    lines.compactMap { line in
      let name = name(of: line)
      return name.hasPrefix(":") || line.field == .targetForm ? nil : (name, value(of: line))
    }
  }
}
