import Foundation
import NIOCore
import NIOPosix
import TestPeers
import TestTools

@testable import SSHTransport

/// OpenSSH's agent, on a socket of the test.
final class SSHAgent: Sendable {
  let path: String
  let process: ChildProcess
  private let folder: TemporaryFolder

  init() async throws {
    folder = try TemporaryFolder()
    path = folder["agent"]
    process = try ChildProcess(Program.sshAgent.path(), ["-D", "-a", path])
    _ = try await process.outputLine(containing: "SSH_AUTH_SOCK", within: .seconds(10))
  }

  func add(_ keys: String...) async throws {
    let result = try await Program.sshAdd.run(["-q"] + keys, environment: ["SSH_AUTH_SOCK": path])
    guard result.exitCode == 0 else { throw PeerFailure("ssh-add: \(result.errorText)") }
  }

  var client: AgentClient { AgentClient(path: path, group: MultiThreadedEventLoopGroup.singleton) }
}

/// A server on an agent's socket that sends the same bytes to every client.
final class FalseAgent: Sendable {
  enum Ending { case closes, staysOpen }

  let path: String
  private let folder: TemporaryFolder
  private let server: any Channel

  init(answering bytes: [UInt8], then ending: Ending) async throws {
    folder = try TemporaryFolder()
    path = folder["agent"]
    server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Answer(bytes: bytes, ending: ending))
        }
      }
      .bind(unixDomainSocketPath: path).get()
  }

  func close() async throws { try await server.close() }

  var client: AgentClient { AgentClient(path: path, group: MultiThreadedEventLoopGroup.singleton) }

  /// A message with its length prefix.
  static func message(_ type: UInt8, _ body: [UInt8] = []) -> [UInt8] {
    var writer = WireWriter()
    writer.string([type] + body)
    return writer.bytes
  }

  private final class Answer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let bytes: [UInt8]
    private let ending: Ending

    init(bytes: [UInt8], ending: Ending) {
      self.bytes = bytes
      self.ending = ending
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
      let ending = ending
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenComplete { _ in
        if ending == .closes { loopBound.value.close(promise: nil) }
      }
    }
  }
}
