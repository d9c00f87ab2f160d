/// Which release this is.
enum BywayVersion {
  static let text = "0.1.0"
}
