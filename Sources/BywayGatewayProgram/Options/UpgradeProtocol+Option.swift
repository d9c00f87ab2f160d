package import Byway

extension UpgradeProtocol {
  /// Reads the values of `--allow-upgrade`.
  package static func allowed(_ texts: [String]) throws -> [UpgradeProtocol] {
    try texts.map { text in try OptionValue.of("--allow-upgrade") { try UpgradeProtocol(text) } }
  }
}
