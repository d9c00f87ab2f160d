public import Byway
import NIOCore

/// An interceptor that answers by the rules of a text file:
///
///     # What the device says while it does not exist.
///     ### GET /status delay=300ms
///     HTTP/1.1 200
///     content-type: application/json
///
///     {"uptime": 12}
///
///     ### GET device/firmware/* rate=11520
///     HTTP/1.1 200
///
///     < firmware.bin
///
///     ### * /gone fail=linkLost
///
/// A rule begins with `###`, a method or `*`, and a path. With a host in front of the path, it is for that host only; with `*` at
/// its end, for all paths that begin so. Then comes the answer as HTTP writes it, or as `curl -i` shows it. A body ends with its
/// last line that is not empty, without that line's end. One with a `Content-Length` that fits has exactly that length, and one
/// whose head a program has written keeps its last line's end. A body of `<` and a name is that file, in the same folder. The first
/// rule that matches answers; requests that match none are forwarded.
public struct StubFile: Interceptor {
  public var scope: Scope { .everything }
  private let rules: [StubRule]

  /// Reads the file, once. Blocks.
  /// - Throws: `BywayError` with code `unreadableFile` if it cannot be read, and with code `invalidRequest` if a line is not valid;
  ///   the message names the line.
  public init(_ path: String) throws {
    let file = try OpenFile(path)
    guard file.size <= Self.limit else {
      throw BywayError(
        .unreadableFile, "\(path) is larger than 16 MiB: put large bodies into files of their own, with \"< NAME\".",
        processing: .none)
    }
    let text = file.size == 0 ? "" : String(buffer: try file.readAll())
    let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    rules = try StubFileParser(text, path: path, folder: folder).rules()
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let rule = rules.first(where: { $0.fits(request.head) }) else { return try await next(request) }
    return try await rule.answer.respond(request).answering(request.head)
  }

  private static let limit = 16 << 20
}
