package import BywayLineLayer
package import NIOCore

/// The links of a client: those of one device, or of several. Any thread.
package protocol ClientLinks: Sendable {
  /// Sends the client's exchanges. For their event loop only.
  var handler: any ExchangeHandler { get }

  /// - Parameter device: `nil`: the default device.
  func ping(_ device: DeviceName?) async throws -> TimeAmount

  func reports() async -> [LinkReport]

  /// Returns the statistics of the line of the default device's link; `nil` if it has none, or is down.
  func lineStatistics() async -> LineStatistics?

  /// Takes no more exchanges, and returns when all links are closed.
  func shutDown() async
}
