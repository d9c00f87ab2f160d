package import Byway
import BywayPrimitives

/// The devices that each user may use: `alice = printer camera`, one user a line. A value.
///
/// `*` on the left is every user, in addition to the user's own line. On the right it is every device, and `board-*` every device
/// whose name begins with `board-`. Without an entry there is no right.
package struct Rights: Sendable {
  private var everybody = Grant()
  private var grants: [UserName: Grant] = [:]

  /// - Parameter file: the name of the file, for messages.
  /// - Throws: ``BywayError`` with code `unreadableFile`, which names the line.
  package init(_ text: String, named file: String) throws(BywayError) {
    var lines: [String: Int] = [:]
    for line in try SettingLine.all(in: text, of: file) {
      let parts = line.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else {
        throw line.flaw(in: file, "\"\(line.text.visible)\" is not a right: write USER = DEVICE DEVICE, or USER = *")
      }
      let subject = String(parts[0]).trimmed
      let user = UserName(subject)
      guard subject == Self.anything || user != nil else {
        throw line.flaw(in: file, "\"\(subject.visible)\" cannot be a user: a name has \(UserName.rule)")
      }
      if let before = lines.updateValue(line.number, forKey: subject) {
        throw line.flaw(
          in: file, "\(subject.visible) has its line already, line \(before): put all of their devices into one")
      }
      let grant = try Grant(parts[1], line, file)
      if let user { grants[user] = grant } else { everybody = grant }
    }
  }

  package func allow(_ user: UserName, _ resource: Resource) -> Bool {
    everybody.has(resource) || grants[user]?.has(resource) ?? false
  }

  private static let anything = "*"

  /// The right side of a line.
  private struct Grant {
    private var isEverything = false
    private var resources: Set<Resource> = []
    /// Prefixes of device names.
    private var beginnings: [String] = []

    init() {}

    init(_ text: Substring, _ line: SettingLine, _ file: String) throws(BywayError) {
      let words = text.split { $0 == " " || $0 == "\t" || $0 == "," }
      if words.isEmpty { throw line.flaw(in: file, "there is no device behind the =: name one, or leave the line out") }
      for word in words {
        if word == Rights.anything {
          isEverything = true
        } else if word == Resource.mainWord {
          resources.insert(.main)
        } else if let name = DeviceName(word) {
          resources.insert(.device(name))
        } else if word.last == "*", let beginning = Self.beginning(word.dropLast()) {
          beginnings.append(beginning)
        } else {
          throw line.flaw(
            in: file,
            "\"\(String(word).visible)\" is not a device: write its name, the beginning of names and * (board-*), * for "
              + "every device, or \(Resource.mainWord) for the default device")
        }
      }
    }

    /// Returns a prefix in lower case; `nil` if no device name can begin so. It may end with a hyphen, unlike a name.
    private static func beginning(_ text: Substring) -> String? {
      DeviceName(text + "x").map { String($0.text.dropLast()) }
    }

    func has(_ resource: Resource) -> Bool {
      if isEverything || resources.contains(resource) { return true }
      guard case .device(let name) = resource else { return false }
      return beginnings.contains { name.text.hasPrefix($0) }
    }
  }
}
