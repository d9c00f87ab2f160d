package import Byway
import Logging
package import NIOCore
import NIOPosix

/// Checks that a stream can be opened, and closes it again.
package struct ConnectionCheck: Check {
  package static let title = "connects"

  private let address: LinkAddress
  private let transport: any Transport
  /// Makes the diagnosis of an error.
  private let diagnose: @Sendable (BywayError) -> Diagnosis

  package init(
    to address: LinkAddress, over transport: any Transport,
    diagnose: @escaping @Sendable (BywayError) -> Diagnosis = { Diagnosis(.notConnected, $0.message) }
  ) {
    self.address = address
    self.transport = transport
    self.diagnose = diagnose
  }

  package func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let start = ContinuousClock.now
    do {
      let channel = try await resources.channel { [address, transport] in
        try await transport.connect(to: address, context: .ofDoctor(within: .seconds(4)))
      }
      let time = ContinuousClock.now - start
      try? await channel.close().get()
      return .sound("\(address.place) accepts, in \(time.inMilliseconds) ms.")
    } catch let error as BywayError {
      return .wrong(diagnose(error))
    }
  }
}

extension LinkContext {
  /// The context for channels that a check opens.
  package static func ofDoctor(within limit: TimeAmount) -> LinkContext {
    LinkContext(
      group: MultiThreadedEventLoopGroup.singleton,
      logger: Logger(label: "byway.doctor", factory: { _ in SwiftLogNoOpLogHandler() }), deadline: .now() + limit)
  }
}
