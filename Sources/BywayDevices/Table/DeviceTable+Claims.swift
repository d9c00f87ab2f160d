package import Byway

extension DeviceTable {
  /// Returns a client for a configured device whose link is open, if a gateway may be at its far end. On the event loop.
  /// - Parameter name: `nil`: the default device.
  package func gatewayClient(for name: DeviceName?) -> ExchangeClient? {
    let links = name.map { directory[$0]?.links ?? [] } ?? directory.main
    guard let first = links.first, first.framing == .http2 else { return nil }
    return openClient(over: links)
  }
}
