import Byway
import BywayHTTPWire
import BywayPrimitives
import HTTPTypes

/// The answer from a file to a request with conditions and ranges (RFC 9110 §13.2.2, §14.2).
struct FileAnswer {
  private let file: OpenFile
  private let tag: EntityTag
  private let modified: WallTime
  private var fields: HTTPFields

  init(_ file: OpenFile, fields: HTTPFields) {
    self.file = file
    // Time and size together change with every write, unless a program hides the change on purpose.
    let (seconds, attoseconds) = file.status.modified.components
    tag = EntityTag("\(String(seconds, radix: 36))-\(String(attoseconds, radix: 36))-\(String(file.size, radix: 36))")
    modified = WallTime(sinceEpoch: .seconds(seconds))
    self.fields = fields
    if self.fields[.contentType] == nil { self.fields[.contentType] = MediaType.ofFile(file.path) }
    self.fields[.eTag] = tag.description
    self.fields[.lastModified] = modified.httpDate
    self.fields[.acceptRanges] = "bytes"
  }

  func response(to request: HTTPRequest) -> Response {
    if let status = failedPrecondition(of: request.headerFields) {
      var fields = fields
      fields[.contentType] = nil
      return Response(status: status, fields: fields)
    }
    guard request.method == .get, let range = request.headerFields[.range].flatMap(ByteRange.init),
      isCurrent(request.headerFields[.ifRange])
    else { return Response(status: .ok, fields: fields, body: Body(file)) }
    var fields = fields
    guard let bytes = range.bytes(of: file.size) else {
      fields[.contentRange] = "bytes */\(file.size)"
      fields[.contentType] = nil
      return Response(status: .rangeNotSatisfiable, fields: fields)
    }
    fields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.size)"
    return Response(status: .partialContent, fields: fields, body: Body(file, range: bytes))
  }

  /// Returns the status of the first condition that fails, in the order of RFC 9110 §13.2.2.
  private func failedPrecondition(of request: HTTPFields) -> HTTPResponse.Status? {
    if let list = request[.ifMatch] {
      let matches = list.trimmed == "*" || ListMembers(list).contains { EntityTag($0)?.stronglyEquals(tag) ?? false }
      if !matches { return .preconditionFailed }
    } else if let date = request[.ifUnmodifiedSince].flatMap(WallTime.init(httpDate:)), modified > date {
      return .preconditionFailed
    }
    if let list = request[.ifNoneMatch] {
      if tag.isNamed(byIfNoneMatch: list) { return .notModified }
    } else if let date = request[.ifModifiedSince].flatMap(WallTime.init(httpDate:)), modified <= date {
      return .notModified
    }
    return nil
  }

  /// Whether `If-Range` matches, by a strong comparison of a tag or a date (RFC 9110 §13.1.5).
  private func isCurrent(_ ifRange: String?) -> Bool {
    guard let ifRange else { return true }
    if let other = EntityTag(ifRange) { return other.stronglyEquals(tag) }
    return WallTime(httpDate: ifRange) == modified
  }
}
