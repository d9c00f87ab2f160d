import Byway
import NIOCore

/// A port of the far machine, as one connection has it.
///
/// Sendable: `number` and `ended` may be asked for anywhere; all else is touched on the connection's event loop only.
final class SSHPortListener: @unchecked Sendable {
  /// Connections that libssh2 keeps until the next turn.
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

  /// It is cancelled, or its connection is gone.
  var ended: EventLoopFuture<Void> { endPromise.futureResult }

  func accept() throws(SSHError) {
    while !isOver, let channel = try port.accept() {
      let stream = SSHChannelCarrier.carry(channel, of: connection)
      stream.prepareForHandover(to: queue).assumeIsolated().whenComplete { result in
        if case .success = result { stream.activate() } else { stream.close(promise: nil) }
      }
    }
  }

  /// Stops listening; from any thread.
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
