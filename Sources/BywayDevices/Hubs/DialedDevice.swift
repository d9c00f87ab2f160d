import Byway

/// A device whose gateways dial a hub, and claim its name. Lives on its event loop.
struct DialedDevice {
  let upstream: HTTP2Upstream
  /// Whether its gateways have shown certificates with its name.
  let isCertified: Bool
  /// The bound address that they dial.
  let hub: LinkAddress
}
