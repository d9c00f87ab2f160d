extension LinkAddress {
  /// Without what only opens it, and without the words of a command, which may have a password among them.
  package var publicName: String {
    scheme == "exec" ? "exec:\(path.prefix { $0 != " " })" : place
  }
}
