import Byway
import BywayHTTPWire

/// Refuses requests that a browser sends for a page from another origin, without the user's intent: a form that submits itself, an
/// image whose URL is a command, a WebSocket. Following a link to the device stays possible.
///
/// A page may use its own origin, however its browser reaches it: at the proxy's own address, in absolute form, or through a
/// tunnel that can be read here. Clients that are not browsers send none of these fields.
struct PageRules: Sendable {
  private let allowed: Set<PageOrigin>

  /// - Parameter allowed: origins whose pages may use every target: `http://HOST[:PORT]`.
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

  /// Checks a request.
  /// - Parameter target: the origin that the request is for; `nil` if it is unknown, and then it is no page's own.
  /// - Throws: the reason for not answering the request.
  func admit(_ request: FieldSection, to target: PageOrigin?) throws(BywayError) {
    // Fetch Metadata: pages cannot set these fields, and browsers send them to this machine and over https.
    let site = Site(request)
    if site == .same { return }
    if let text = request.value(of: .origin) {
      let origin = PageOrigin(text)
      if let origin, origin == target || allowed.contains(origin) { return }
      throw Self.forbidden(origin)
    }
    guard site == .other else { return }
    if Self.isNavigation(request) { return }
    // Requests that only fetch have no Origin; Referer may tell their page.
    let referrer = request.value(of: .referer).flatMap { PageOrigin($0, mayHavePath: true) }
    if let referrer, allowed.contains(referrer) { return }
    throw Self.forbidden(referrer)
  }

  /// The relation of page and target, according to `Sec-Fetch-Site`.
  private enum Site {
    /// The browser did not report it, or no page caused the request.
    case unknown
    case same
    /// Another origin. "same-site" includes another port of the same host: another program's page.
    case other

    init(_ request: FieldSection) {
      self =
        request.withValue(of: .secFetchSite) { site in
          if site.elementsEqual("same-origin".utf8) { return .same }
          return site.elementsEqual("none".utf8) ? .unknown : .other
        } ?? .unknown
    }
  }

  /// Whether the user followed a link with a safe method.
  private static func isNavigation(_ request: FieldSection) -> Bool {
    let isDocument = request.withValue(of: .secFetchDest) { $0.elementsEqual("document".utf8) } ?? false
    let isSafe =
      request.withValue(of: .method) { $0.elementsEqual("GET".utf8) || $0.elementsEqual("HEAD".utf8) } ?? false
    return isDocument && isSafe
  }

  private static func forbidden(_ page: PageOrigin?) -> BywayError {
    let place = page.map { "The page at \($0)" } ?? "A page from another origin"
    return BywayError(.forbidden, advice: .allowPage(page.map { "\($0)" }), processing: .none) { advice in
      "\(place) may not use this proxy: \(advice)."
    }
  }
}
