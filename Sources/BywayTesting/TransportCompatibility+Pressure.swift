import NIOCore

extension TransportCompatibility {
  /// Checks that a writer is stopped when the buffers on the way are full, and continues when the reader reads.
  func checkBackPressure() async throws {
    switch farEnd {
    case .listener: try await withPair { near, far in try await checkBackPressure(from: near, to: far) }
    case .echo: try await withEchoLink { near in try await checkBackPressure(from: near, to: near) }
    }
  }

  private func checkBackPressure(from writer: LinkEnd, to reader: LinkEnd) async throws {
    let pattern = Pattern()
    var sent = 0
    var isStopped = false
    while !isStopped {
      let piece = pattern.slice(at: sent, count: 1 << 16)
      let written: EventLoopFuture<Void> = writer.channel.writeAndFlush(piece)
      sent += piece.readableBytes
      try expect(sent <= bufferedByteLimit, "took \(sent) bytes without a reader: nothing stops the writer")
      isStopped = try await !completes(written, within: .milliseconds(300))
    }
    try expect(!writer.channel.isWritable || sent > 0, "stopped before it had taken a byte")
    try await reader.read(pattern, count: sent)
    let total = sent
    async let rest: Void = writer.write(pattern, from: total, count: 1 << 20)
    try await reader.read(pattern, from: total, count: 1 << 20)
    try await rest
  }

  private func completes(_ future: EventLoopFuture<Void>, within limit: TimeAmount) async throws -> Bool {
    let answer = future.eventLoop.makePromise(of: Bool.self)
    let timeout = future.eventLoop.scheduleTask(in: limit) { answer.succeed(false) }
    future.whenComplete { result in
      timeout.cancel()
      answer.completeWith(result.map { true })
    }
    return try await answer.futureResult.get()
  }
}
