import BywayPrimitives

extension Environment {
  /// The first runtime folder that systemd has made for this service, in RUNTIME_DIRECTORY (systemd.exec(5)). Colons separate several.
  static var runtimeFolder: String? { self["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init) }
}
