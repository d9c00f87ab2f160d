package import NIOCore

extension Channel {
  /// Closes after all written bytes are sent: NIO's own close drops bytes that the peer has not taken yet.
  ///
  /// - Parameter patience: the time limit for that. `nil`: no limit.
  package func closeOnceWritten(within patience: TimeAmount? = nil) {
    let timer = patience.map { eventLoop.scheduleTask(in: $0) { self.close(promise: nil) } }
    writeAndFlush(ByteBuffer()).whenComplete { _ in
      timer?.cancel()
      self.close(promise: nil)
    }
  }
}
