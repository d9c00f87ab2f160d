extension LinkAddress {
  /// The address without options that only open it, and without the arguments of a command, which may contain a password.
  package var publicName: String {
    scheme == "exec" ? "exec:\(path.prefix { $0 != " " })" : place
  }

  /// Returns the public name of an address, or the text itself if it is none.
  package static func publicName(of text: String) -> String { (try? LinkAddress(text))?.publicName ?? text }
}
