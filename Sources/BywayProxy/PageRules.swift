import Byway
import HTTPWire

/// Refuses what a browser sends for a page from elsewhere, which no user has asked for: a form that posts itself, an image
/// that is a command, a WebSocket. Following a link to the device stays possible.
///
/// Clients that are no browsers send none of these fields.
enum PageRules {
  /// - Parameter isOwn: whether an authority is a name of this proxy.
  static func admit(_ request: FieldSection, isOwn: (String) -> Bool) throws(BywayError) {
    // RFC 6454 §7: scheme and authority of the page, or "null".
    if let origin = request.value(of: .origin) {
      let authority = origin.firstRange(of: "://").map { String(origin[$0.upperBound...]) } ?? ""
      if !isOwn(authority) { throw forbidden("The page at \(origin)") }
    } else if isCrossSite(request) {
      throw forbidden("A page from elsewhere")
    }
  }

  /// Fetch Metadata: GET requests carry no Origin, but browsers tell how page and target are related.
  private static func isCrossSite(_ request: FieldSection) -> Bool {
    guard request.withValue(of: .secFetchSite, { $0.elementsEqual("cross-site".utf8) }) ?? false else { return false }
    return request.withValue(of: .secFetchDest) { $0.elementsEqual("document".utf8) } != true
  }

  private static func forbidden(_ page: String) -> BywayError {
    BywayError(
      .forbidden, "\(page) may not use this proxy: start it with --name and the page's host if it should.",
      processing: .none)
  }
}
