public import Byway
import BywayLibC
public import NIOCore
import NIOPosix

/// A transport for the link over this process's own standard input and output: `stdio:`, under sshd, inetd or another program.
///
/// There is only one such link, so only the first call of connect or listen succeeds.
public struct StdioTransport: Transport {
  public let scheme = "stdio"
  public let forms = [AddressForm("stdio:", "the standard streams of this process")]
  public let options = [
    LinkOption("linger", "seconds without a session after which a gateway with line= ends; without it, it stays")
  ]
  private let streams: StandardStreams

  /// Creates a transport for this process's streams. They can be used once, by whichever transport opens them first.
  public init() {
    self.init(streams: .process)
  }

  init(streams: StandardStreams) {
    self.streams = streams
  }

  public func check(_ address: LinkAddress) throws {
    guard address.authority == nil, address.path.isEmpty else {
      throw BywayError(.invalidAddress, "\(address) has something after the colon: write only stdio:.")
    }
    guard let linger = address[option: "linger"] else { return }
    guard let seconds = Int(linger), (1...86_400).contains(seconds), address[option: "line"] != nil else {
      throw BywayError(.invalidAddress, "linger=\(linger) needs line=BAUD, and a number of seconds from 1 to 86400.")
    }
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await open(address, context: context, queue: nil)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await QueueListener(address: address) { try await open(address, context: context, queue: $0) }
  }

  private func open(_ address: LinkAddress, context: LinkContext, queue: ChannelQueue?) async throws -> any Channel {
    try check(address)
    let taken = try streams.take(takesTerminals: address[option: "line"] != nil)
    let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(BlockingModeHandler(taken.restorers))
      }
      .flatMap { channel.prepareForHandover(to: queue) }
    }
    do {
      switch taken.kind {
      case .oneSocket(let socket):
        return try await ClientBootstrap(group: context.group)
          .channelInitializer(initializer)
          .withConnectedSocket(socket).get()
      case .two(let input, let output):
        return try await NIOPipeBootstrap(group: context.group)
          .channelInitializer(initializer)
          .takingOwnershipOfDescriptors(input: input, output: output).get()
      }
    } catch {
      throw BywayError(
        .linkUnavailable, "Cannot use standard input and output as a link.", processing: .none, cause: error)
    }
  }
}
