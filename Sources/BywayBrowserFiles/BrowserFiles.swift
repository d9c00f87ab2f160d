/// The files of a static site that shows a device's pages in a browser: docs/browser.md.
package enum BrowserFiles {
  /// The files by their names. Scripts come without comments, which browsers need not load.
  package static let all: [String: [UInt8]] = Dictionary(
    uniqueKeysWithValues: sources.map { ($0, $0.hasSuffix(".js") ? $1.withoutComments : $1) })

  private static let sources: [String: [UInt8]] = [
    "index.html": PackageResources.index_html, "byway-page.js": PackageResources.byway_page_js,
    "byway-page.css": PackageResources.byway_page_css, "byway-frame.html": PackageResources.byway_frame_html,
    "byway-frame.js": PackageResources.byway_frame_js, "byway-worker.js": PackageResources.byway_worker_js,
    "byway.js": PackageResources.byway_js, "byway.d.ts": PackageResources.byway_d_ts,
    "byway-carrier.js": PackageResources.byway_carrier_js, "byway-connection.js": PackageResources.byway_connection_js,
    "byway-error.js": PackageResources.byway_error_js, "byway-exchange.js": PackageResources.byway_exchange_js,
    "byway-fields.js": PackageResources.byway_fields_js, "byway-frames.js": PackageResources.byway_frames_js,
    "byway-hpack.js": PackageResources.byway_hpack_js, "byway-http.js": PackageResources.byway_http_js,
    "byway-http2.js": PackageResources.byway_http2_js, "byway-line.js": PackageResources.byway_line_js,
    "byway-ports.js": PackageResources.byway_ports_js, "byway-session.js": PackageResources.byway_session_js,
    "byway-stream.js": PackageResources.byway_stream_js, "byway-streams.js": PackageResources.byway_streams_js,
  ]

  /// Returns the files for a page and device pages of different origins, each without a path.
  package static func all(pageOrigin: String, deviceOrigin: String) -> [String: [UInt8]] {
    var files = all
    for (file, start, origin) in [
      ("index.html", "name=\"byway-device\" content=\"", deviceOrigin),
      ("index.html", "frame-src 'self'", " \(deviceOrigin)"),
      ("byway-frame.html", "name=\"byway-page\" content=\"", pageOrigin),
    ] {
      guard var bytes = files[file], let place = bytes.firstIndex(of: Array(start.utf8)) else { continue }
      bytes.insert(contentsOf: origin.utf8, at: place + start.utf8.count)
      files[file] = bytes
    }
    return files
  }
}

extension [UInt8] {
  /// The lines that do not begin with `//`, `/*`, `* ` or `*/` behind spaces.
  fileprivate var withoutComments: [UInt8] {
    let lines = split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let kept = lines.filter { line in
      let text = line.drop { $0 == UInt8(ascii: " ") }
      return !["//", "/*", "* ", "*/"].contains { text.starts(with: $0.utf8) }
    }
    return Array(kept.joined(separator: [UInt8(ascii: "\n")]))
  }

  fileprivate func firstIndex(of part: [UInt8]) -> Int? {
    indices.first { self[$0...].starts(with: part) }
  }
}
