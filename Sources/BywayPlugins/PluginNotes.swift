import Byway
import BywayPrimitives
import HTTPTypes

/// The remarks of a plugin in the fields of its response.
enum PluginNotes {
  /// The maximum number of remarks for a response.
  static let limit = 8
  /// The maximum number of bytes of a remark; the rest is cut off.
  static let length = 256

  /// Removes the remarks from the fields.
  /// - Returns: the first ones, within the limits.
  static func take(from fields: inout HTTPFields) -> [String] {
    let notes = fields[values: .note]
    if notes.isEmpty { return [] }
    fields[.note] = nil
    return notes.prefix(limit).map { cut($0.visible) }
  }

  private static func cut(_ text: String) -> String {
    var text = text
    while text.utf8.count > length { text.removeLast() }
    return text
  }
}
