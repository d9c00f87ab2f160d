import Byway
import HTTPWire

/// Refuses what a browser sends for a page from elsewhere, which no user has asked for: a form that posts itself, an image
/// that is a command, a WebSocket. Following a link to the device stays possible.
///
/// A page may use its own origin, whichever way its browser takes: by the proxy's own address, in absolute form, or through a
/// tunnel that can be read here. Clients that are not browsers send none of these fields.
struct PageRules: Sendable {
  private let allowed: Set<PageOrigin>

  /// - Parameter allowed: origins whose pages may use any: `http://HOST[:PORT]`.
  /// - Throws: `BywayError` with code `invalidAddress`.
  init(allowed: [String] = []) throws {
    self.allowed = try Set(
      allowed.map { text in
        guard let origin = PageOrigin(text) else {
          throw BywayError(
            .invalidAddress,
            "\"\(text)\" is not the origin of a page: write http://HOST or http://HOST:PORT, without a path.")
        }
        return origin
      })
  }

  /// - Parameter target: what the request is for; `nil` where that cannot be told, which is not a page's own.
  /// - Throws: why the request is not answered.
  func admit(_ request: FieldSection, to target: PageOrigin?) throws(BywayError) {
    // Fetch Metadata: pages cannot set it, and browsers send it to this machine and over https.
    let site = Site(request)
    if site == .same { return }
    if let text = request.value(of: .origin) {
      let origin = PageOrigin(text)
      if let origin, origin == target || allowed.contains(origin) { return }
      throw Self.forbidden(origin)
    }
    guard site == .other else { return }
    if Self.isNavigation(request) { return }
    // Requests that only fetch have no Origin; where they are from, Referer may tell.
    let referrer = request.value(of: .referer).flatMap { PageOrigin($0, mayHavePath: true) }
    if let referrer, allowed.contains(referrer) { return }
    throw Self.forbidden(referrer)
  }

  /// How page and target are related, as `Sec-Fetch-Site` has it.
  private enum Site {
    /// Not told, or no page's doing.
    case unknown
    case same
    /// "same-site" is another port of the same host as well: another program's page.
    case other

    init(_ request: FieldSection) {
      self =
        request.withValue(of: .secFetchSite) { site in
          if site.elementsEqual("same-origin".utf8) { return .same }
          return site.elementsEqual("none".utf8) ? .unknown : .other
        } ?? .unknown
    }
  }

  /// A link that was followed, which only asks for something.
  private static func isNavigation(_ request: FieldSection) -> Bool {
    let isDocument = request.withValue(of: .secFetchDest) { $0.elementsEqual("document".utf8) } ?? false
    let isSafe =
      request.withValue(of: .method) { $0.elementsEqual("GET".utf8) || $0.elementsEqual("HEAD".utf8) } ?? false
    return isDocument && isSafe
  }

  private static func forbidden(_ page: PageOrigin?) -> BywayError {
    let message =
      page.map { "The page at \($0) may not use this proxy: start it with --allow-page \($0) if it should." }
      ?? "A page from elsewhere may not use this proxy: start it with --allow-page and the page's origin if it should."
    return BywayError(.forbidden, message, processing: .none)
  }
}
