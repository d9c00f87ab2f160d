import ArgumentParser
import Byway

extension ArgumentHelp {
  /// The help of `--allow-upgrade`, which gateway and proxy have.
  static let allowUpgrade = ArgumentHelp(
    "Requests may go over to this protocol (Upgrade), besides websocket, tcp and SPDY/3.1. May be repeated.",
    valueName: "protocol")
}

extension UpgradeProtocol {
  /// Reads what `--allow-upgrade` was given.
  static func allowed(_ texts: [String]) throws -> [UpgradeProtocol] {
    try texts.map { text in try OptionValue.of("--allow-upgrade") { try UpgradeProtocol(text) } }
  }
}
