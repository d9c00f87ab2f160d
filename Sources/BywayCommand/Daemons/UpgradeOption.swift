import ArgumentParser

extension ArgumentHelp {
  /// The help of `--allow-upgrade`, an option of gateways and proxies.
  static let allowUpgrade = ArgumentHelp(
    "Requests may change to this protocol (Upgrade), besides websocket, tcp and SPDY/3.1. May be repeated.",
    valueName: "protocol")
}
