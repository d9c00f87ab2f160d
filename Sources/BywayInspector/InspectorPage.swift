import Byway
import HTTPTypes
import NIOCore

/// The page, with its style and scripts. It loads nothing from other sites.
enum InspectorPage {
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src blob:; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

  /// - Returns: `nil` if there is no such file.
  static func file(at place: Substring) -> Response? {
    let name = place == "/" ? "index.html" : place.dropFirst()
    guard let bytes = files[String(name)], let type = types[String(name.drop { $0 != "." })] else { return nil }
    return Response(
      status: .ok,
      fields: [
        .contentType: "\(type); charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: policy,
      ], body: Body(bytes))
  }

  /// Adds the fields that isolate a response from other pages of the browser: they cannot embed it, keep a reference to its window,
  /// let it be read as another type, or learn its URL.
  static func secure(_ fields: inout HTTPFields) {
    fields[.xContentTypeOptions] = "nosniff"
    for (name, value) in isolation { fields[name] = value }
  }

  private static let isolation: [(HTTPField.Name, String)] = [
    ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY"),
  ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }

  private static let types = [".html": "text/html", ".css": "text/css", ".js": "text/javascript"]

  /// The bytes of the files, shared by all answers.
  private static let files = sources.mapValues { ByteBuffer(bytes: $0) }

  private static let sources: [String: [UInt8]] = [
    "index.html": PackageResources.index_html, "style.css": PackageResources.style_css,
    "act.js": PackageResources.act_js, "body.js": PackageResources.body_js, "chart.js": PackageResources.chart_js,
    "columns.js": PackageResources.columns_js, "compare.js": PackageResources.compare_js,
    "copy.js": PackageResources.copy_js,
    "detail.js": PackageResources.detail_js, "dom.js": PackageResources.dom_js, "edit.js": PackageResources.edit_js,
    "feed.js": PackageResources.feed_js, "filter.js": PackageResources.filter_js,
    "format.js": PackageResources.format_js, "har.js": PackageResources.har_js, "help.js": PackageResources.help_js,
    "json.js": PackageResources.json_js, "line.js": PackageResources.line_js, "list.js": PackageResources.list_js,
    "main.js": PackageResources.main_js, "marks.js": PackageResources.marks_js, "menu.js": PackageResources.menu_js,
    "messages.js": PackageResources.messages_js, "notices.js": PackageResources.notices_js,
    "overview.js": PackageResources.overview_js, "pause.js": PackageResources.pause_js,
    "place.js": PackageResources.place_js, "range.js": PackageResources.range_js,
    "rules.js": PackageResources.rules_js,
    "secrets.js": PackageResources.secrets_js,
    "split.js": PackageResources.split_js, "store.js": PackageResources.store_js,
    "totals.js": PackageResources.totals_js, "waterfall.js": PackageResources.waterfall_js,
  ]
}
