import Foundation

/// Screenshots for people, in the folder that `BYWAY_SCREENSHOTS` names, or in `.build/screenshots`.
enum Screenshots {
  static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["BYWAY_SCREENSHOTS"] { return URL(filePath: path) }
    return URL(filePath: #filePath).appending(path: "../../../.build/screenshots").standardizedFileURL
  }()

  /// Returns the path of a screenshot, and creates its folder.
  static func path(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.appending(path: "\(name).png").path
  }

  /// Prints the folder at the end of a test that has taken screenshots.
  static func tell() {
    print("Screenshots are in \(folder.path).")
  }
}
