import Byway

/// The topics of a link: one for the announcement of the gateway, and two for each session.
struct LinkTopics: Sendable, Hashable {
  /// Brokers allow 65,535 bytes; two hundred are enough, and leave room for the levels below.
  private static let limit = 200
  /// The most bytes of a topic that an end of byway reads: that of the address, and the levels of a session.
  static let longest = limit + 40

  /// The topic of the address.
  let base: String

  init(_ address: LinkAddress) throws(BywayError) {
    let path = address.path.hasPrefix("/") ? address.path.dropFirst() : address.path[...]
    func invalid(_ problem: String) -> BywayError {
      BywayError(
        .invalidAddress,
        "\(address) \(problem): write \(address.scheme)://BROKER/TOPIC, for example \(address.scheme)://broker/byway/sensor1."
      )
    }
    guard !path.isEmpty else { throw invalid("has no topic") }
    guard !path.contains(where: { $0 == "+" || $0 == "#" }) else {
      throw invalid("has a wildcard in its topic, which would reach other devices")
    }
    guard path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
      throw invalid("has an empty level in its topic")
    }
    guard !path.hasPrefix("$") else { throw invalid("has a topic that is reserved for the broker") }
    guard path.utf8.count <= Self.limit else { throw invalid("has a topic of more than \(Self.limit) bytes") }
    guard path.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
      throw invalid("has a space or a control character in its topic")
    }
    base = String(path)
  }

  /// The topic of the retained announcement.
  var gateway: String { "\(base)/gateway" }
  /// The topics of the messages of all users to the gateway.
  var anyUp: String { "\(base)/s/+/up" }

  func up(_ session: SessionName) -> String { "\(base)/s/\(session)/up" }
  func down(_ session: SessionName) -> String { "\(base)/s/\(session)/down" }

  /// Returns the session of a message to the gateway; `nil` if no end of byway has chosen its name.
  func session(ofUp topic: String) -> SessionName? {
    let prefix = "\(base)/s/"
    guard topic.hasPrefix(prefix), topic.hasSuffix("/up") else { return nil }
    return SessionName(topic.dropFirst(prefix.count).dropLast(3))
  }
}

/// The random name of a session or of a gateway's run: 32 hexadecimal digits.
struct SessionName: Sendable, Hashable, CustomStringConvertible {
  let description: String

  static func random() -> SessionName {
    let number = UInt128.random(in: 0 ... .max)
    let digits = String(number, radix: 16)
    return SessionName(description: String(repeating: "0", count: 32 - digits.count) + digits)
  }

  private init(description: String) {
    self.description = description
  }

  init?(_ text: Substring) {
    guard text.utf8.count == 32,
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    description = String(text)
  }
}
