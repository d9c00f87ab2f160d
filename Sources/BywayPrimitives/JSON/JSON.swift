/// A JSON value (RFC 8259), read and written without Foundation.
package enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  /// A number as it is written.
  case number(String)
  case string(String)
  case array([JSON])
  /// The members in their order.
  case object([Member])

  package struct Member: Sendable, Hashable {
    package let name: String
    package let value: JSON

    package init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }
}

// MARK: Creation

extension JSON {
  package static func number(_ number: some BinaryInteger) -> JSON { .number("\(number)") }
  /// JSON has no notation for numbers that are not finite.
  package static func number(_ number: Double) -> JSON { number.isFinite ? .number("\(number)") : .null }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral {
  package init(stringLiteral text: String) { self = .string(text) }
  package init(integerLiteral number: Int) { self = .number(number) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }
}

extension JSON: ExpressibleByDictionaryLiteral {
  /// Members without a value are left out.
  package init(dictionaryLiteral members: (String, JSON?)...) {
    self = .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }
}

// MARK: Access

extension JSON {
  /// Returns the last member of that name, as most readers do.
  package subscript(name: String) -> JSON? {
    if case .object(let members) = self { members.last { $0.name == name }?.value } else { nil }
  }

  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var elements: [JSON] {
    if case .array(let elements) = self { elements } else { [] }
  }

  package var isTrue: Bool { self == .bool(true) }
}
