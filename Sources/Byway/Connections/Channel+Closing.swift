package import NIOCore

extension Channel {
  /// Closes once everything written has left: NIO's own close drops what the peer has not taken yet.
  ///
  /// - Parameter patience: how long that may last. `nil`: as long as the peer takes to read.
  package func closeOnceWritten(within patience: TimeAmount? = nil) {
    let timer = patience.map { eventLoop.scheduleTask(in: $0) { self.close(promise: nil) } }
    writeAndFlush(ByteBuffer()).whenComplete { _ in
      timer?.cancel()
      self.close(promise: nil)
    }
  }
}
