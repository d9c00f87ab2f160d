extension LinkAddress {
  /// The address without options that only open it, and without the arguments of a command, which may contain a password.
  package var publicName: String {
    scheme == "exec" ? "exec:\(path.prefix { $0 != " " })" : place
  }
}
