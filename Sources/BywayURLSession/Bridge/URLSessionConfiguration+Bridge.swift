public import FoundationNetworking

extension Bridge {
  /// The class to put first in `URLSessionConfiguration.protocolClasses`.
  public var protocolClass: BywayURLProtocol.Type { BridgeTable.process.protocolClass(of: self) }
}

extension URLSessionConfiguration {
  /// Adds this bridge before all bridges that were added earlier.
  public func use(_ bridge: Bridge) {
    protocolClasses = [bridge.protocolClass] + (protocolClasses ?? [])
  }

  /// The default configuration with this bridge.
  public static func byway(_ bridge: Bridge) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.default
    configuration.use(bridge)
    return configuration
  }
}
