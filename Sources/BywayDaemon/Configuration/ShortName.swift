/// A name that users give to a link, a section or a daemon. It can be part of a path, and cannot be taken for an address, which
/// has a colon, or for an option.
package enum ShortName {
  package static func isValid(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && !"-.".contains(text.first ?? "-")
      && text.utf8.allSatisfy { byte in
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-_.".utf8.contains(byte)
      }
  }
}
