import Foundation

/// Pictures of pages, for people to look at: in the folder that `BYWAY_SCREENSHOTS` names, or in `.build/screenshots`.
enum Screenshots {
  static let folder: URL = {
    if let path = ProcessInfo.processInfo.environment["BYWAY_SCREENSHOTS"] { return URL(filePath: path) }
    return URL(filePath: #filePath).appending(path: "../../../.build/screenshots").standardizedFileURL
  }()

  /// Where a picture of that name belongs; its folder is there.
  static func path(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.appending(path: "\(name).png").path
  }

  /// At the end of a test that has taken some.
  static func tell() {
    print("Screenshots are in \(folder.path).")
  }
}
