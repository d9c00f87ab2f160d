import BywayPrimitives

/// A parser of a step of a script.
struct StepReader {
  private var words: [Substring]

  init(_ text: Substring) {
    words = text.split(separator: " ")
  }

  func action() throws(StepError) -> Step.Action {
    var reader = self
    let action = try reader.read()
    if let word = reader.words.first { throw StepError("\"\(word)\" is too much") }
    return action
  }

  private mutating func read() throws(StepError) -> Step.Action {
    switch next() {
    case "in":
      let times = words.first.flatMap { Int($0) }
      if times != nil { words.removeFirst() }
      return .send(try transmission(), times: times ?? 1)
    case "out":
      let isOnly = skip("only")
      let pattern = try pattern()
      let isDoubled = skip("doubled")
      let after = skip("after") ? try milliseconds() : 0
      return .expect(
        pattern, isOnly: isOnly, isDoubled: isDoubled, after: after, within: try milliseconds("within"))
    case "none":
      let pattern = try pattern()
      return .refuse(pattern, for: try milliseconds("for"))
    case "at": return .wait(try milliseconds())
    case "mute": return .mute
    case "cut": return .cut
    case "restore": return .restore
    case "owner": return .owner(try order())
    case let word: throw StepError("there is no step \"\(word)\"")
    }
  }

  private mutating func transmission() throws(StepError) -> Transmission {
    if skip("bytes") { return .bytes(try Self.bytes(next())) }
    if skip("body") { return .body(try Self.bytes(next())) }
    if skip("junk") { return .junk(Int(try milliseconds())) }
    if skip("stretch") { return .stretch(Int(try milliseconds())) }
    let isDamaged = skip("damaged")
    return .frame(try pattern(), isDamaged: isDamaged)
  }

  private mutating func order() throws(StepError) -> OwnerOrder {
    switch next() {
    case "send": return .send(Int(try milliseconds()))
    case "finish": return .finish
    case "leave": return .leave
    case let word: throw StepError("an owner cannot \"\(word)\"")
    }
  }

  private mutating func pattern() throws(StepError) -> FramePattern {
    let name = next()
    guard let kind = FramePattern.Kind(rawValue: name) else { throw StepError("there is no frame \"\(name)\"") }
    var fields: [FramePattern.Field: FramePattern.Value] = [:]
    while let word = words.first, word.contains("=") || word == "last" {
      words.removeFirst()
      let parts = word.split(separator: "=", maxSplits: 1)
      guard let field = parts.first.flatMap({ FramePattern.Field(rawValue: String($0)) }),
        FramePattern.known(kind).contains(field)
      else { throw StepError("\(name) has no \"\(word)\"") }
      fields[field] = parts.count == 2 ? FramePattern.Value(String(parts[1])) : .word("yes")
    }
    return FramePattern(kind: kind, fields: fields)
  }

  private mutating func next() -> String {
    words.isEmpty ? "" : String(words.removeFirst())
  }

  private mutating func skip(_ word: String) -> Bool {
    guard words.first.map({ $0 == word }) ?? false else { return false }
    words.removeFirst()
    return true
  }

  private mutating func milliseconds(_ name: String? = nil) throws(StepError) -> UInt64 {
    if let name, !skip(name) { throw StepError("\"\(name)\" and a number are missing") }
    let word = next()
    guard let number = UInt64(word), number <= 1_000_000 else { throw StepError("\"\(word)\" is not a number") }
    return number
  }

  static func bytes(_ text: String) throws(StepError) -> [UInt8] {
    guard let bytes = Hex.bytes(text), !bytes.isEmpty else { throw StepError("\"\(text)\" are not bytes") }
    return bytes
  }
}
