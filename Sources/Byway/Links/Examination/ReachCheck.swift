package import NIOCore
import NIOPosix

/// Checks that TCP connects to one of a host's addresses.
package struct ReachCheck: LinkCheck {
  package static let title = "connects"

  /// The time for connecting, shared by the addresses.
  private static let patience = TimeAmount.seconds(6)
  private static let mostAddresses = 3

  /// The host and port for messages: `device:22`.
  private let place: String
  /// The server that should listen there: "the SSH server".
  private let listener: String
  private let addresses: [SocketAddress]
  /// A further sentence for a host that cannot be reached.
  private let advice: String?

  package init(to place: String, of listener: String, at addresses: [SocketAddress], advice: String? = nil) {
    self.place = place
    self.listener = listener
    self.addresses = Array(addresses.prefix(Self.mostAddresses))
    self.advice = advice
  }

  package var limit: Duration { .seconds(8) }

  /// - Returns: the address that answers.
  package func examine(_ resources: OpenedResources) async throws -> Finding<SocketAddress> {
    let share = TimeAmount.nanoseconds(Self.patience.nanoseconds / Int64(max(1, addresses.count)))
    var failure: any Error = ChannelError.connectTimeout(share)
    for address in addresses {
      let start = ContinuousClock.now
      do {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .connectTimeout(share).connect(to: address).get()
        resources.add(channel)
        let time = ContinuousClock.now - start
        try? await channel.close().get()
        return .sound("\(place) accepts, in \(time.inMilliseconds) ms.", address)
      } catch {
        failure = error
      }
    }
    let error = ConnectFailure.error(
      failure, connectingTo: place, of: listener, address: addresses.first?.ipAddress, advice: advice)
    return .wrong(error.diagnosis ?? Diagnosis(.notConnected, error.message))
  }
}
