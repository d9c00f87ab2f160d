package import HTTPTypes

extension FieldSection {
  /// Creates the head of a request. Its `Host` field stays unchanged.
  package init(_ request: HTTPRequest) {
    self.init()
    append(.method, request.method.rawValue)
    if let scheme = request.scheme { append(.scheme, scheme) }
    if let authority = request.authority { append(.authority, authority) }
    if let path = request.path { append(.path, path) }
    if let `protocol` = request.extendedConnectProtocol { append(.protocol, `protocol`) }
    append(request.headerFields)
  }

  /// Creates the head of a response.
  package init(_ response: HTTPResponse) {
    self.init()
    append(.status, String(response.status.code))
    append(response.headerFields)
  }

  /// Creates trailers.
  package init(_ fields: HTTPFields) {
    self.init(lineCapacity: fields.count)
    append(fields)
  }

  private mutating func append(_ fields: HTTPFields) {
    for field in fields {
      var name = field.name.canonicalName
      name.withUTF8 { name in
        field.withUnsafeBytesOfValue { value in
          append(
            name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer(value),
            isSensitive: field.indexingStrategy == .disallow)
        }
      }
    }
  }
}

extension HTTPRequest {
  /// Returns `nil` if the section has no method, or a field that HTTPTypes does not accept.
  package init?(_ section: FieldSection) {
    guard let method = section.value(of: .method).flatMap(HTTPRequest.Method.init(rawValue:)),
      let fields = HTTPFields(section)
    else { return nil }
    self.init(
      method: method, scheme: section.value(of: .scheme), authority: section.value(of: .authority),
      path: section.value(of: .path), headerFields: fields)
    if let name = section.value(of: .protocol) { extendedConnectProtocol = name }
  }
}

extension HTTPResponse {
  /// Returns `nil` if the section has no status, or a field that HTTPTypes does not accept.
  package init?(_ section: FieldSection) {
    guard let code = section.status, let fields = HTTPFields(section) else { return nil }
    self.init(status: .init(code: code), headerFields: fields)
  }
}

extension HTTPFields {
  /// Creates the fields of a section without its pseudo-header fields.
  package init?(_ section: FieldSection) {
    self.init()
    reserveCapacity(section.lines.count)
    for line in section.lines where !line.field.isPseudo {
      let field = section.withBytes(of: line) { name, value in
        HTTPField.Name(String(decoding: name, as: UTF8.self)).map { HTTPField(name: $0, value: value) }
      }
      guard var field else { return nil }
      if line.isSensitive { field.indexingStrategy = .disallow }
      append(field)
    }
  }
}
