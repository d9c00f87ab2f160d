public import Byway
import BywayPrimitives
public import HTTPTypes
import NIOPosix

/// An interceptor that answers GET and HEAD from the files of a folder, with ranges and conditions. Requests without a file are
/// forwarded.
///
/// Thus a page's images can come from disk and the rest from the device. Only files in the folder itself are found: symbolic links
/// are not followed, and names that begin with a dot do not exist.
public struct LocalFiles: Interceptor {
  public let scope: Scope
  private let folder: ServedFolder
  private let prefix: String
  private let fields: HTTPFields

  /// Creates an interceptor for a folder under a path.
  /// - Parameters:
  ///   - folder: The folder, which is searched at each request, so that files may come and go.
  ///   - prefix: The path under which the folder appears; `/` for all.
  ///   - hosts: The hosts, as in `Scope`; empty for any.
  ///   - fields: Fields to add to each answer, such as `Cache-Control`.
  public init(_ folder: String, under prefix: String = "/", hosts: [String] = [], fields: HTTPFields = [:]) {
    let prefix = String(prefix.reversed().drop { $0 == "/" }.reversed())
    scope = Scope(hosts: hosts, paths: prefix.isEmpty ? [] : [prefix], methods: [.get, .head])
    self.folder = ServedFolder(path: folder)
    self.prefix = prefix
    self.fields = fields
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let segments = segments(of: request.head) else { return try await next(request) }
    let (folder, isFolder) = (folder, segments.last?.isEmpty ?? true)
    let wanted = isFolder ? segments.dropLast() + ["index.html"] : segments
    switch try await NIOThreadPool.singleton.runIfActive({ try folder.open(wanted) }) {
    case .nothing: return try await next(request)
    case .folder where isFolder: return try await next(request)
    case .folder:
      // Without the slash at the end, relative links in the folder's page would lead elsewhere.
      let reference = URIReference(request.head.path ?? "")
      let location = reference.path + "/" + (reference.query.map { "?" + $0 } ?? "")
      return Response(status: .movedPermanently, fields: [.location: location]).answering(request.head)
    case .file(let file):
      return FileAnswer(file, fields: fields).response(to: request.head).answering(request.head)
    }
  }

  /// Returns the decoded path below the prefix; `nil` if it has an invalid escape.
  private func segments(of request: HTTPRequest) -> [String]? {
    let path = (request.path ?? "").utf8.prefix { $0 != UInt8(ascii: "?") }.dropFirst(prefix.utf8.count)
    var decoded: [String] = []
    for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
      guard let text = PercentEncoding.decode(String(decoding: segment, as: UTF8.self)) else { return nil }
      decoded.append(text)
    }
    return decoded
  }
}
