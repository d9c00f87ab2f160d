import BywayPrimitives

/// The types of content in files.
package enum MediaType {
  /// Returns the type for the extension of a file's name; that of arbitrary bytes if the extension is unknown.
  package static func ofFile(_ path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return unknown }
    return byExtension[name[name.index(after: dot)...].lowercased()] ?? unknown
  }

  /// Returns the type in lower case, without parameters: `text/html`.
  package static func essence(_ contentType: String) -> String {
    let end = contentType.utf8.firstIndex(of: UInt8(ascii: ";")) ?? contentType.endIndex
    return contentType[..<end].trimmed.lowercased()
  }

  /// Whether a type is text that people can read.
  static func isText(_ contentType: String) -> Bool {
    let essence = essence(contentType)
    return essence.hasPrefix("text/") || essence.hasSuffix("+json") || essence.hasSuffix("+xml")
      || ["application/json", "application/javascript", "application/xml", form].contains(essence)
  }

  static let form = "application/x-www-form-urlencoded"
  private static let unknown = "application/octet-stream"

  private static let byExtension = [
    "css": "text/css; charset=utf-8", "csv": "text/csv; charset=utf-8", "gif": "image/gif", "gz": "application/gzip",
    "htm": "text/html; charset=utf-8", "html": "text/html; charset=utf-8", "ico": "image/vnd.microsoft.icon",
    "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript; charset=utf-8", "json": "application/json",
    "md": "text/markdown; charset=utf-8", "mjs": "text/javascript; charset=utf-8", "mp3": "audio/mpeg",
    "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
    "tar": "application/x-tar", "txt": "text/plain; charset=utf-8", "wasm": "application/wasm", "webm": "video/webm",
    "webp": "image/webp",
    "woff": "font/woff", "woff2": "font/woff2", "xml": "application/xml", "zip": "application/zip",
  ]
}
