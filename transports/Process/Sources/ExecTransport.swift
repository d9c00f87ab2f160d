public import Byway
import BywayLibC
public import NIOCore
import NIOPosix

/// A transport for links over the standard streams of a child process: `exec:COMMAND ARGUMENTS`. Any program can be a
/// transport.
///
/// Both connecting and listening start the command. A listener serves the peer that the command connects to.
public struct ExecTransport: Transport {
  public let scheme = "exec"
  public let forms = [AddressForm("exec:COMMAND", "the standard streams of a command")]
  private let grace: TimeAmount

  /// Creates a transport that ends its commands gracefully, and by force if they do not exit.
  /// - Parameter grace: the time from closing a child's standard input until SIGTERM, and from then until SIGKILL.
  public init(grace: Duration = .seconds(2)) {
    self.grace = TimeAmount(grace)
  }

  public func check(_ address: LinkAddress) throws {
    _ = try CommandLineWords(address.path)
  }

  public func check(_ address: LinkAddress, for opening: Link.Opening) throws {
    guard let diagnosis = try ProgramFailure.diagnosis(of: CommandLineWords(address.path).words[0]) else { return }
    throw BywayError(.unreadableFile, diagnosis.line, processing: .none)
  }

  public func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await start(address, context: context, queue: nil)
  }

  public func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await QueueListener(address: address) { try await start(address, context: context, queue: $0) }
  }

  private func start(_ address: LinkAddress, context: LinkContext, queue: ChannelQueue?) async throws -> any Channel {
    let command = try CommandLineWords(address.path)
    let loop = context.group.next()
    let exit = loop.makePromise(of: ChildProcess.Exit.self)
    let child: ChildProcess
    let pipes: ChildProcess.Pipes
    do {
      (child, pipes) = try ChildProcess.spawn(command.words, environment: context.environment) { exit.succeed($0) }
      if let programs = context.programs {
        programs.began(child.processID) { [child] in child.signal($0) }
        exit.futureResult.whenComplete { [child] _ in programs.ended(child.processID) }
      }
    } catch {
      exit.fail(error)
      throw BywayError(.linkUnavailable, ProgramFailure.diagnosis(of: command.words[0], error), cause: error)
    }
    var unowned = [pipes.error, pipes.input, pipes.output, pipes.inputReader]
    do {
      let log = StandardErrorLog(name: context.programs?.name ?? command.name, logger: context.logger)
      let errors = try await NIOPipeBootstrap(group: loop)
        .channelInitializer { $0.addStandardErrorHandler(log) }
        .takingOwnershipOfDescriptor(input: pipes.error).get()
      unowned.removeFirst()
      let channel = try await NIOPipeBootstrap(group: loop)
        .channelInitializer { [grace] channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
              ChildHandler(
                name: command.name, child: child, exit: exit.futureResult, inputReader: pipes.inputReader, log: log,
                logEnd: errors.closeFuture, grace: grace))
          }
          .flatMap { channel.prepareForHandover(to: queue) }
        }
        .takingOwnershipOfDescriptors(input: pipes.output, output: pipes.input).get()
      return channel
    } catch {
      for descriptor in unowned { close(descriptor) }
      child.signal(SIGKILL)
      throw BywayError(
        .linkUnavailable, "Cannot use the pipes of \(command.name).", processing: .none, cause: error)
    }
  }
}
