/// The use of the connections when several gateways dial one link, or claim one name.
package enum GatewaySharing: Sendable, Hashable {
  /// The latest gets all requests: usually it is the same gateway after it lost its line. The others stand by.
  case newest
  /// Each request goes to the gateway with the fewest running requests.
  case balanced
}
