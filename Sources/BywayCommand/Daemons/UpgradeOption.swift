import ArgumentParser
import Byway

extension ArgumentHelp {
  /// The help of `--allow-upgrade`, an option of gateways and proxies.
  static let allowUpgrade = ArgumentHelp(
    "Requests may change to this protocol (Upgrade), besides websocket, tcp and SPDY/3.1. May be repeated.",
    valueName: "protocol")
}

extension UpgradeProtocol {
  /// Reads the values of `--allow-upgrade`.
  static func allowed(_ texts: [String]) throws -> [UpgradeProtocol] {
    try texts.map { text in try OptionValue.of("--allow-upgrade") { try UpgradeProtocol(text) } }
  }
}
