import Byway
import Glibc
package import NIOCore
import NIOPosix
import Primitives

/// Checks that TCP connects to one of a host's addresses.
package struct ReachCheck: Check {
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
    return .wrong(diagnosis(failure))
  }

  private func diagnosis(_ failure: any Error) -> Diagnosis {
    let message = ConnectFailure.error(failure, connectingTo: place, of: listener).message
    return Diagnosis(
      unreachable: failure, advice.map { "\(message) \($0)" } ?? message, address: addresses.first?.ipAddress)
  }
}

extension Diagnosis {
  /// Diagnoses an address that TCP cannot connect to.
  /// - Parameters:
  ///   - sentence: the sentence of the diagnosis.
  ///   - address: the IP address that was tried, if there was one.
  package init(unreachable failure: any Error, _ sentence: String, address: String? = nil) {
    switch ConnectFailure(failure) {
    case .unknownHost: self.init(.unknownName, sentence)
    case .system(ECONNREFUSED): self.init(.nobodyListens, sentence)
    case .system(ENETUNREACH), .system(EHOSTUNREACH):
      self.init(.noRoute, sentence, command: address.map { "ip route get \($0)" })
    case .timeout: self.init(.noAnswer, sentence)
    case .system, .other: self.init(.notConnected, sentence)
    }
  }
}
