import BywayHTTPWire

/// `method SP request-target SP HTTP-version` (RFC 9112 §3), one space each.
struct RequestLine: Sendable {
  let version: HTTP1Version
  let form: TargetForm

  /// Appends `:method`, and `:scheme`, `:authority` and `:path` if the target contains them.
  init(_ line: UnsafeRawBufferPointer, into fields: inout FieldSection) throws(HTTP1Failure) {
    let space = UInt8(ascii: " ")
    guard let methodEnd = line.firstOffset(of: space, from: 0),
      let targetEnd = line.firstOffset(of: space, from: methodEnd + 1)
    else { throw .malformed("The request line does not have the form \"GET /path HTTP/1.1\".") }
    let method = UnsafeRawBufferPointer(rebasing: line[..<methodEnd])
    let target = UnsafeRawBufferPointer(rebasing: line[(methodEnd + 1)..<targetEnd])
    guard FieldGrammar.isToken(method) else { throw .malformed("The method of a request is not a token.") }
    version = try HTTP1Version(UnsafeRawBufferPointer(rebasing: line[(targetEnd + 1)...]))
    guard FieldGrammar.isTarget(target), !target.contains(UInt8(ascii: "#")) else {
      throw .malformed("The request target is empty or contains a character that no target may have.")
    }
    fields.append(.method, method)
    if method.elementsEqual("CONNECT".utf8) {
      form = .authority
      guard FieldGrammar.isAuthority(target, needsPort: true) else {
        throw .malformed("The target of CONNECT is not a host and port.")
      }
      fields.append(.authority, target)
    } else if target[0] == UInt8(ascii: "/") {
      form = .origin
      fields.append(.path, target)
    } else if target.count == 1, target[0] == UInt8(ascii: "*") {
      form = .asterisk
      guard method.elementsEqual("OPTIONS".utf8) else { throw .malformed("Only OPTIONS may ask for \"*\".") }
      fields.append(.path, target)
    } else {
      form = .absolute
      try Self.readAbsoluteForm(target, isOptions: method.elementsEqual("OPTIONS".utf8), into: &fields)
    }
  }

  /// `scheme "://" authority path-abempty [ "?" query ]`
  private static func readAbsoluteForm(
    _ target: UnsafeRawBufferPointer, isOptions: Bool, into fields: inout FieldSection
  ) throws(HTTP1Failure) {
    guard let colon = target.firstOffset(of: UInt8(ascii: ":"), from: 0),
      FieldGrammar.isScheme(UnsafeRawBufferPointer(rebasing: target[..<colon])),
      target[colon...].starts(with: "://".utf8)
    else { throw .malformed("The request target is neither a path nor an absolute URI.") }
    let authorityStart = colon + 3
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
    let authorityEnd = target[authorityStart...].firstIndex(where: isEnd) ?? target.count
    let authority = UnsafeRawBufferPointer(rebasing: target[authorityStart..<authorityEnd])
    do throws(AuthorityFlaw) { _ = try AuthoritySpelling(authority) } catch {
      throw .malformed("The request target's authority is not a host and port: \(error).")
    }
    fields.append(.scheme, String(decoding: target[..<colon], as: UTF8.self).lowercased())
    fields.append(.authority, authority)
    let path = UnsafeRawBufferPointer(rebasing: target[authorityEnd...])
    switch path.first {
    case UInt8(ascii: "/"): fields.append(.path, path)
    case nil: fields.append(.path, isOptions ? "*" as StaticString : "/")  // RFC 9112 §3.2.4
    default: (Array("/".utf8) + path).withUnsafeBytes { fields.append(.path, $0) }
    }
  }
}
