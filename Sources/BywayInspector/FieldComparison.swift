import BywayHTTPWire
import BywayPrimitives

/// A comparison of the fields before and after this hop, with added, changed and removed fields.
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

  /// The fields of `after`, followed by those that only `before` has.
  let lines: [Line]

  /// - Parameters:
  ///   - before: the fields before this hop; `nil` if only one side is known.
  ///   - after: the fields after this hop.
  init(from before: FieldSection?, to after: FieldSection) {
    guard let before else {
      lines = after.pairs.map { Line(name: $0.name, value: $0.value, mark: .same) }
      return
    }
    var left: [(name: String, value: String)] = before.pairs
    // Equal fields are matched first, so that of several fields with one name the right ones are marked.
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
  /// The fields with names in lower case, without pseudo-fields.
  fileprivate var pairs: [(name: String, value: String)] {
    lines.compactMap { line in
      let name = name(of: line)
      return name.hasPrefix(":") || line.field == .targetForm ? nil : (name, value(of: line))
    }
  }
}
