import BywayHTTPWire

/// The options of a `Connection` field (RFC 9110 §7.6.1).
struct ConnectionOptions: Sendable {
  private(set) var closes = false
  private(set) var keepsAlive = false
  private(set) var upgrades = false
  /// The names of fields that end at this hop, stored as lines without values. Fields that always end at a hop are omitted.
  private var named: FieldSection?

  /// The number of named fields.
  var count: Int { named?.lines.count ?? 0 }

  mutating func note(_ value: UnsafeRawBufferPointer) {
    FieldGrammar.forEachMember(of: value) { option in
      if FieldGrammar.equal(option, lowercased: "close") {
        closes = true
      } else if FieldGrammar.equal(option, lowercased: "keep-alive") {
        keepsAlive = true
      } else if FieldGrammar.equal(option, lowercased: "upgrade") {
        upgrades = true
      } else if !FieldGrammar.equal(option, lowercased: "te") {
        var names = named.take() ?? FieldSection(lineCapacity: 4, byteCapacity: 64)
        names.append(name: option, value: UnsafeRawBufferPointer(start: nil, count: 0))
        named = names
      }
    }
  }

  /// Removes the named fields. Control data stays, even if named.
  func strip(_ fields: inout FieldSection) {
    guard named != nil else { return }
    let section = fields
    fields.removeAll { line in
      !line.field.isPseudo && section.withBytes(of: line) { name, _ in contains(name) }
    }
  }

  /// Whether a lower-case name is among the named fields.
  func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    guard let named else { return false }
    return named.lines.contains { line in
      named.withBytes(of: line) { option, _ in
        option.count == name.count && option.elementsEqual(name)
      }
    }
  }
}
