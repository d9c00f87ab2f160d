import BywayHTTPWire
import NIOCore

/// The target of a request to write (RFC 9112 §3.2). All parts of the request line have been validated.
struct RequestTarget {
  let form: TargetForm
  /// The field that names the host: `:authority`, or else `host`.
  let authority: KnownField
  var isForProxy: Bool { form == .absolute || form == .authority }

  private let hasPath: Bool

  init(of fields: FieldSection, kind: RequestKind, form: TargetForm) throws(HTTP1Failure) {
    guard fields.withValue(of: .method, FieldGrammar.isToken) == true else {
      throw .unencodable("The request's method is not a token.")
    }
    authority = fields.contains(.authority) ? .authority : .host
    // RFC 9112 §3.2 demands an empty Host field in that case. Servers refuse it, including the one here.
    guard fields.withValue(of: authority, { FieldGrammar.isAuthority($0, needsPort: kind == .connect) }) == true else {
      throw .unencodable("The request has no host, or its authority is not a host and port.")
    }

    let path = fields.withValue(of: .path) { path in
      (isAsterisk: path.equals("*"), isGood: Self.isOriginForm(path))
    }
    hasPath = path?.isAsterisk == false
    switch (kind, form) {
    case (.connect, _), (_, .authority):
      guard kind == .connect else { throw .unencodable("Only CONNECT may have a host and port as its target.") }
      self.form = .authority
      return
    case (_, .absolute):
      guard fields.withValue(of: .scheme, FieldGrammar.isScheme) == true else {
        throw .unencodable("The request has no scheme for its URI.")
      }
      self.form = .absolute
    case (_, .origin), (_, .asterisk):
      self.form = path?.isAsterisk == true ? .asterisk : .origin
    }
    guard let path, path.isGood || path.isAsterisk else {
      throw .unencodable(
        "The request's path does not begin with a slash, or contains a character that no path may have.")
    }
    if path.isAsterisk, fields.withValue(of: .method, { $0.equals("OPTIONS") }) != true {
      throw .unencodable("Only OPTIONS may ask for \"*\".")
    }
  }

  func write(_ fields: FieldSection, into output: inout HeadWriter) {
    switch form {
    case .origin: output.writeValue(of: .path, in: fields)
    case .asterisk: output.append("*")
    case .authority: output.writeValue(of: authority, in: fields)
    case .absolute:
      output.writeValue(of: .scheme, in: fields)
      output.append("://")
      output.writeValue(of: authority, in: fields)
      if hasPath { output.writeValue(of: .path, in: fields) }  // RFC 9112 §3.2.4: "*" is the absence of a path here
    }
  }

  private static func isOriginForm(_ path: UnsafeRawBufferPointer) -> Bool {
    path.first == UInt8(ascii: "/") && FieldGrammar.isTarget(path) && !path.contains(UInt8(ascii: "#"))
  }
}
