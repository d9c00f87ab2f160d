import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// The page that a browser shows for a failure: what is down, since when, and what to try. It reloads itself while that may help, and loads
/// nothing from other places.
enum FailurePage {
  /// Loads nothing from outside, whatever a message contains.
  static let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

  private static let pause = 5

  /// Whether the client asks for a page, and not a script for data.
  static func isWanted(by request: FieldSection) -> Bool {
    guard request.withValue(of: .method, { $0.equals("GET") }) ?? false else { return false }
    let html: StaticString = "text/html"
    return request.withValue(of: .accept) { value in
      value.indices.contains {
        UnsafeRawBufferPointer(rebasing: value[$0...].prefix(html.utf8CodeUnitCount)).equals(html)
      }
    } ?? false
  }

  /// - Parameter mayPass: whether the failure may be temporary.
  static func html(title: String, message: String, mayPass: Bool) -> ByteBuffer {
    let refresh = mayPass ? "<meta http-equiv=\"refresh\" content=\"\(pause)\">" : ""
    let again =
      mayPass ? "<p id=\"again\">This page tries again every \(pause) seconds.</p>\n<script>\(since)</script>" : ""
    return ByteBuffer(
      string: """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        \(refresh)
        <title>\(title.escapedForHTML)</title>
        <style>
        body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 15vh auto; padding: 0 1rem; color-scheme: light dark }
        #again { opacity: 0.7 }
        </style>
        </head>
        <body>
        <h1>\(title.escapedForHTML)</h1>
        <p>\(message.escapedForHTML)</p>
        \(again)
        </body>
        </html>

        """)
  }

  /// Only the browser knows since when it has seen the failure; a page that was left open long ago does not count.
  private static let since = """
    try {
      const key = "byway " + location.href, now = Date.now();
      const seen = JSON.parse(sessionStorage.getItem(key) || "null");
      const first = seen && now - seen.last < 60000 ? seen.first : now;
      sessionStorage.setItem(key, JSON.stringify({ first: first, last: now }));
      document.getElementById("again").prepend("Since " + new Date(first).toLocaleTimeString() + ". ");
    } catch (error) {}
    """
}
