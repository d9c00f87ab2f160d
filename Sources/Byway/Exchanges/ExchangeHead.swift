package import BywayHTTPWire
package import NIOCore

/// The properties of a request that take parsing: its kind, its scheme, and its authority.
package struct ParsedTarget: Sendable {
  package let kind: RequestKind
  /// `nil` if the request has no scheme, as a CONNECT.
  package fileprivate(set) var scheme: RequestScheme?
  /// `nil` if the request has no authority, or an invalid one.
  package let authority: AuthoritySpelling?

  package init(kind: RequestKind, scheme: RequestScheme?, authority: AuthoritySpelling?) {
    self.kind = kind
    self.scheme = scheme
    self.authority = authority
  }
}

/// A request's head, its target, and further information from its sender.
///
/// The serving connection parses the target once; all handlers behind it read ``kind``, ``scheme`` and ``authority``. The fields change only
/// by functions of this type. A change of a field that the target depends on discards the parsed target, which is then parsed
/// again when a handler reads it.
package struct ExchangeHead {
  /// Including pseudo-header fields, without connection-specific fields except those that ask for an upgrade.
  package private(set) var fields: FieldSection
  /// `nil` until it is parsed, and after a change.
  private var target: ParsedTarget?
  /// The handler at the device of the authority, if the device was looked up already; `nil` after a change of the target.
  package var device: (any ExchangeHandler)?
  /// Whether the request ends with its head.
  package let isComplete: Bool
  /// The deadline for the response's head.
  package var deadline: NIODeadline?
  /// The read-ahead of the connection that the response is for: how much of it may be received before it can be passed on. `nil`: the
  /// default.
  package var readAhead: ReadAhead?
  /// The user that sent it.
  package var user = RequestUser.anyone
  /// The client's connection that it arrived on; `nil` for a request of this process itself.
  package var client: ObjectIdentifier?
  /// The recorder of the exchange; `nil` if it is not observed.
  package var observed: ObservedExchange?

  /// - Parameter target: the parsed target of these fields; `nil`: parsed when a handler reads it.
  package init(
    fields: FieldSection, target: ParsedTarget? = nil, isComplete: Bool, deadline: NIODeadline? = nil,
    readAhead: ReadAhead? = nil, observed: ObservedExchange? = nil
  ) {
    self.fields = fields
    self.target = target
    self.isComplete = isComplete
    self.deadline = deadline
    self.readAhead = readAhead
    client = readAhead.map { ObjectIdentifier($0) }
    self.observed = observed
  }
}

// MARK: - The target

extension ExchangeHead {
  package var kind: RequestKind { target?.kind ?? RequestKind(fields) }

  /// Whether a local client sent the target as an absolute URL, which asks a proxy for any server. docs/architecture.md describes the
  /// mark.
  package var isAbsolute: Bool { fields.contains(.targetForm) }

  /// `nil` if the request has no scheme, as a CONNECT.
  package var scheme: RequestScheme? {
    if let target { return target.scheme }
    return RequestScheme(of: fields)
  }

  /// The name of the scheme in lower case; `http` if the request has none.
  package var schemeName: String {
    switch scheme {
    case .http, nil: "http"
    case .https: "https"
    case .other: fields.value(of: .scheme)?.lowercased() ?? ""
    }
  }

  /// The host and port that the request names; `nil` if it names none, or an invalid one.
  package var authority: Authority? { withAuthority { Authority($0, in: $1) } }

  /// Returns the host and port that the request must name.
  /// - Throws: `invalidRequest` if it names none, or an invalid one. A server's connection has refused an invalid one already; a request of
  ///   this process itself may have one.
  package func requiredAuthority() throws(BywayError) -> Authority {
    if let authority { return authority }
    let text = fields.value(of: .authority) ?? ""
    do throws(AuthorityFlaw) { return try Authority(text) } catch {
      throw BywayError(.invalidRequest, place: text, error)
    }
  }

  /// Passes the parsed authority and its text to a closure, without a copy of the name.
  package func withAuthority<Result>(_ body: (AuthoritySpelling, UnsafeRawBufferPointer) -> Result) -> Result? {
    let known = target?.authority
    if target != nil, known == nil { return nil }
    // The closure does not capture the head, which would copy it.
    return fields.withValue(of: .authority) { text in
      (known ?? (try? AuthoritySpelling(text))).map { body($0, text) }
    } ?? nil
  }
}

// MARK: - Changes

extension ExchangeHead {
  /// Replaces all lines of that field with one.
  package mutating func set(_ field: KnownField, _ value: String) {
    fields.set(field, value)
    didChange(field)
  }

  package mutating func append(_ field: KnownField, _ value: String) {
    fields.append(field, value)
    didChange(field)
  }

  package mutating func remove(_ field: KnownField) {
    fields.remove(field)
    didChange(field)
  }

  /// Changes any fields. Whatever they are, the target is parsed again when a handler reads it.
  package mutating func edit<Result>(_ change: (inout FieldSection) -> Result) -> Result {
    discardTarget()
    return change(&fields)
  }

  private mutating func didChange(_ field: KnownField) {
    switch field {
    case .method, .protocol, .authority: discardTarget()
    case .scheme: target?.scheme = RequestScheme(of: fields)
    default: break
    }
  }

  private mutating func discardTarget() {
    target = nil
    device = nil
  }
}
