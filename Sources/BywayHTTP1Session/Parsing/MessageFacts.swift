import BywayHTTPWire

/// The information from the framing and connection-specific fields of a head, collected while its lines are read.
struct MessageFacts: Sendable {
  /// The codings of `Transfer-Encoding` in order (RFC 9112 §6.1), reduced to what framing needs.
  enum TransferCodings: Sendable {
    case absent
    case chunked
    /// An unknown coding, with chunked last.
    case unknownThenChunked
    /// The end of the content cannot be determined: chunked is missing, repeated, or not last.
    case unframed
  }

  private(set) var transferCodings = TransferCodings.absent
  private(set) var contentLength: Int?
  private(set) var connection = ConnectionOptions()
  /// The protocols of all `Upgrade` lines, in order.
  private(set) var upgrade: String?
  private(set) var acceptsTrailers = false
  private(set) var expectsContinue = false
  private(set) var hasHost = false

  /// Whether the connection stays open (RFC 9112 §9.3).
  func keepAlive(_ version: HTTP1Version) -> Bool {
    !connection.closes && (version == .v1_1 || connection.keepsAlive)
  }

  /// The upgrade that this message may request or accept (RFC 9110 §7.8).
  func upgrade(_ version: HTTP1Version) -> String? {
    version == .v1_1 && connection.upgrades ? upgrade : nil
  }

  // MARK: Gathering

  mutating func noteTransferEncoding(_ value: UnsafeRawBufferPointer) {
    var isEmpty = true
    FieldGrammar.forEachMember(of: value) { coding in
      isEmpty = false
      let isChunked = FieldGrammar.equal(coding, lowercased: "chunked")
      switch (transferCodings, isChunked) {
      case (.absent, true): transferCodings = .chunked
      case (.absent, false): transferCodings = .unframed
      case (.unframed, true): transferCodings = sawChunked ? .unframed : .unknownThenChunked
      case (.chunked, _), (.unknownThenChunked, _), (.unframed, false): transferCodings = .unframed
      }
      sawChunked = sawChunked || isChunked
    }
    if isEmpty { transferCodings = .unframed }
  }

  /// Records the length. Repetitions must be equal (RFC 9112 §6.3). Returns whether this is the first one.
  mutating func noteContentLength(_ value: UnsafeRawBufferPointer) throws(HTTP1Failure) -> Bool {
    let isFirst = contentLength == nil
    // The usual form, which needs no search for commas.
    if isFirst, let length = FieldGrammar.length(value) {
      contentLength = length
      return true
    }
    var start = 0
    for index in 0...value.count where index == value.count || value[index] == UInt8(ascii: ",") {
      let member = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: value[start..<index]))
      guard let length = FieldGrammar.length(member) else {
        let isNumber = !member.isEmpty && member.allSatisfy { $0 &- 0x30 < 10 }
        throw isNumber
          ? .tooLarge("The Content-Length is too large for this machine.", status: 413)
          : .malformed("The Content-Length is not a number.")
      }
      if let contentLength, contentLength != length { throw .malformed("Two Content-Lengths differ.") }
      contentLength = length
      start = index + 1
    }
    return isFirst
  }

  mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
    connection.note(value)
  }

  mutating func noteUpgrade(_ value: UnsafeRawBufferPointer) {
    let protocols = String(decoding: value, as: UTF8.self)
    upgrade = upgrade.map { "\($0), \(protocols)" } ?? protocols
  }

  mutating func noteTE(_ value: UnsafeRawBufferPointer) {
    FieldGrammar.forEachMember(of: value) { coding in
      if FieldGrammar.equal(coding, lowercased: "trailers") { acceptsTrailers = true }
    }
  }

  mutating func noteExpect(_ value: UnsafeRawBufferPointer) {
    FieldGrammar.forEachMember(of: value) { expectation in
      if FieldGrammar.equal(expectation, lowercased: "100-continue") { expectsContinue = true }
    }
  }

  /// Records the Host, which must be unique and plausible. Otherwise two hops may see different hosts (RFC 9112 §3.2). The result is not
  /// kept: the rules for both HTTP versions parse the fields that a session passes on, in one place.
  mutating func noteHost(_ value: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    if hasHost { throw .malformed("The request has two Host fields.") }
    do throws(AuthorityFlaw) { _ = try AuthoritySpelling(value) } catch {
      throw .malformed("The Host field is not a host: \(error).")
    }
    hasHost = true
  }

  private var sawChunked = false
}
