import Byway
import Logging
import NIOCore
import NIOPosix
import SerialTransport
import Synchronization
import TestWire

/// A peer on a line with only the line layer: each session becomes a TCP connection to a server, byte for byte.
final class BareLineEnd: Sendable {
  private let listener: any Listener
  private let carrying: Task<Void, any Error>
  private let sessions = Mutex((all: 0, open: 0, most: 0))

  /// The number of sessions in total, and the highest number of concurrent ones.
  var counts: (all: Int, most: Int) { sessions.withLock { ($0.all, $0.most) } }

  static func start(on line: String, port: Int) async throws -> BareLineEnd {
    let link = try TransportRegistry([SerialTransport()]).link(line)
    let context = LinkContext(
      group: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      deadline: .now() + .seconds(10))
    return BareLineEnd(try await link.transport.listen(on: link.address, context: context), port: port)
  }

  private init(_ listener: any Listener, port: Int) {
    self.listener = listener
    let carry = Carry()
    carrying = Task {
      for try await session in listener.channels { carry.end?.join(session, to: port) }
    }
    carry.end = self
  }

  private final class Carry: @unchecked Sendable {
    // Sendable, because it is written once, before the first session.
    weak var end: BareLineEnd?
  }

  func stop() async {
    carrying.cancel()
    await listener.close()
  }

  private func join(_ session: any Channel, to port: Int) {
    sessions.withLock {
      $0.all += 1
      $0.open += 1
      $0.most = max($0.most, $0.open)
    }
    session.closeFuture.whenComplete { _ in self.sessions.withLock { $0.open -= 1 } }
    ClientBootstrap(group: session.eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connect(host: "127.0.0.1", port: port)
      .flatMapThrowing { server in
        try session.pipeline.syncOperations.addHandler(PassingHandler(to: server))
        try server.pipeline.syncOperations.addHandler(PassingHandler(to: session))
        session.startReading()
        server.startReading()
      }
      .whenFailure { _ in session.close(promise: nil) }
  }
}
