import Byway
import NIOCore

/// A port that one connection has the remote host listen on.
///
/// Sendable: `number` and `ended` may be read anywhere; everything else is used on the connection's event loop only.
final class SSHPortListener: @unchecked Sendable {
  /// The number of connections that libssh2 keeps until they are accepted.
  static let backlog = 256

  let number: Int
  private let port: SSHRemotePort
  private let connection: SSHConnection
  private let queue: ChannelQueue
  private let endPromise: EventLoopPromise<Void>
  private var isOver = false

  init(_ port: SSHRemotePort, of connection: SSHConnection, queue: ChannelQueue) {
    self.port = port
    self.connection = connection
    self.queue = queue
    number = port.number
    endPromise = connection.eventLoop.makePromise()
  }

  /// Completes when the listener is cancelled or its connection is closed.
  var ended: EventLoopFuture<Void> { endPromise.futureResult }

  func accept() throws(SSHError) {
    while !isOver, let channel = try port.accept() {
      let stream = SSHChannelCarrier.carry(channel, of: connection)
      stream.prepareForHandover(to: queue).assumeIsolated().whenComplete { result in
        if case .success = result { stream.activate() } else { stream.close(promise: nil) }
      }
    }
  }

  /// Stops listening. Can be called from any thread.
  func stop() {
    connection.eventLoop.execute { self.cancel() }
  }

  private func cancel() {
    guard !isOver else { return }
    lost()
    connection.ports.removeAll { $0 === self }
    connection.closing.append { [port] in port.cancel() }
    connection.pump()
  }

  func lost() {
    guard !isOver else { return }
    isOver = true
    endPromise.succeed()
  }
}
