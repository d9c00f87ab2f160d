import Byway
import NIOCore
import NIOPosix
import NIOSSL

extension Dialer {
  /// Opens connections to an origin's address.
  init(_ address: Origin.Address, name: String) throws {
    let tls = try address.tlsContext()
    self.init(name: name) { eventLoop, deadline in
      address.connect(on: eventLoop, tls: tls, by: deadline)
        .flatMapErrorThrowing { error in
          guard let failure = error as? TLSHandshake.Failure else { throw Self.explain(error, name: name) }
          throw OriginTLSFailure(name: name, anchors: address.anchors).explain(failure)
        }
    }
  }

  private static func explain(_ error: any Error, name: String) -> BywayError {
    switch error {
    case let error as IOError where error.errnoCode == ECONNREFUSED:
      BywayError(
        .originUnavailable, "Nothing listens at \(name): start the origin, or correct --origin.", processing: .none,
        cause: error)
    case let error as IOError where error.errnoCode == ENOENT:
      BywayError(
        .originUnavailable, "\(name) does not exist: start the origin, or correct --origin.", processing: .none,
        cause: error)
    case let error as IOError where error.errnoCode == EACCES:
      BywayError(
        .originUnavailable, "No permission to connect to \(name): run the gateway as a user who may.",
        processing: .none, cause: error)
    case ChannelError.connectTimeout:
      BywayError(.timedOut, "\(name) did not accept a connection in time.", processing: .none, cause: error)
    default:
      BywayError(.originUnavailable, "\(name) cannot be reached.", processing: .none, cause: error)
    }
  }
}

extension Origin.Address {
  /// While its queue is full a Unix socket answers EAGAIN at once, where TCP would wait: so it is asked again.
  func connect(
    on eventLoop: any EventLoop, tls: NIOSSLContext?, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    open(on: eventLoop, tls: tls, by: deadline).flatMapError { error in
      guard let error = error as? IOError, error.errnoCode == EAGAIN, deadline > .now() else {
        return eventLoop.makeFailedFuture(error)
      }
      return eventLoop.flatScheduleTask(in: .milliseconds(5)) {
        connect(on: eventLoop, tls: tls, by: deadline)
      }.futureResult
    }
  }

  private func open(
    on eventLoop: any EventLoop, tls: NIOSSLContext?, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    switch self {
    case .unix(let path):
      return bootstrap(on: eventLoop, by: deadline).connect(unixDomainSocketPath: path)
    case .tcp(let host, let port):
      return bootstrap(on: eventLoop, by: deadline).overTCP().connect(host: host, port: port)
    case .tls(let host, let port, _):
      guard let tls else { return eventLoop.makeFailedFuture(ChannelError.operationUnsupported) }
      return eventLoop.makeFutureWithTask {
        // A name may have several addresses; each connection has a handshake of its own, and one is chosen.
        let (channel, agreed) = try await bootstrap(on: eventLoop, by: deadline).overTCP()
          .connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
              try (channel, TLSHandshake.add(to: channel, tls, host: host, deadline: deadline))
            }
          }
        do {
          try await agreed.get()
        } catch {
          channel.close(promise: nil)
          throw error
        }
        return channel
      }
    }
  }

  private func bootstrap(on eventLoop: any EventLoop, by deadline: NIODeadline) -> ClientBootstrap {
    ClientBootstrap(group: eventLoop)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: true)
      .connectTimeout(max(deadline - .now(), .nanoseconds(1)))
  }

  /// The file of authorities that was given.
  var anchors: String? {
    if case .tls(_, _, let anchors) = self { anchors } else { nil }
  }

  private var isTLS: Bool {
    if case .tls = self { true } else { false }
  }

  func tlsContext() throws -> NIOSSLContext? {
    guard isTLS else { return nil }
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.applicationProtocols = ["http/1.1"]
    if let anchors { configuration.trustRoots = .file(anchors) }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw BywayError(.invalidAddress, "The trust anchors in \(anchors ?? "the system") cannot be read.", cause: error)
    }
  }
}

extension ClientBootstrap {
  fileprivate func overTCP() -> ClientBootstrap {
    channelOption(.tcpOption(.tcp_nodelay), value: 1).keepingAlive()
  }
}
