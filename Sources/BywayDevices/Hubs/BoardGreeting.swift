import Byway

/// The first line of a board that dials a hub: docs/wire-protocol.md, section 14.
struct BoardGreeting: Equatable {
  /// The most bytes of a line, with the room of later versions.
  static let mostBytes = 256

  private static let keyword: Substring = "byway-line"
  private static let version: Substring = "1"
  /// How much of another version is shown.
  private static let mostShown = 8

  let name: ClaimedName
  /// The number of this run of the board.
  let incarnation: UInt32

  /// - Parameter line: without its end.
  /// - Throws: ``HubRefusal`` if a board does not begin so.
  init(reading line: String) throws(HubRefusal) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count >= 2, words[0] == Self.keyword else { throw .notABoard }
    guard words[1] == Self.version else {
      // Not characters: one of them can have any number of combining marks.
      throw .boardVersion(String(words[1].unicodeScalars.prefix(Self.mostShown)))
    }
    // A sign is no digit.
    guard words.count == 4, words[3].utf8.count == 8, words[3].allSatisfy(\.isHexDigit),
      let incarnation = UInt32(words[3], radix: 16), incarnation > 0
    else { throw .notABoard }
    name = ClaimedName(reading: words[2].isEmpty ? nil : String(words[2]))
    self.incarnation = incarnation
  }
}
