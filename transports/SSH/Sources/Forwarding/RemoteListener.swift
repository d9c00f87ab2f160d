import Byway
import Logging
import NIOCore

/// Listens on a port of the remote host until it is closed. Reconnects when the connection is lost.
final class RemoteListener: Sendable {
  private static let connectLimit = TimeAmount.seconds(10)
  /// A connection that lasted this long counts as a success.
  private static let successfulLife = TimeAmount.seconds(10)

  private let host: String
  private let target: SSHLoginTarget
  private let pool: SSHSessionPool
  private let context: LinkContext
  private let queue = ChannelQueue()

  private init(host: String, target: SSHLoginTarget, pool: SSHSessionPool, context: LinkContext) {
    self.host = host
    self.target = target
    self.pool = pool
    self.context = context
  }

  /// - Throws: if the server does not listen now.
  static func start(
    on address: LinkAddress, host: String, port: Int, of target: SSHLoginTarget, pool: SSHSessionPool,
    context: LinkContext
  ) async throws -> any Listener {
    let listener = RemoteListener(host: host, target: target, pool: pool, context: context)
    let first = try await listener.listen(on: port, by: context.deadline)
    let bound = try address.replacingListenedPort(first.number)
    let keeping = Task { await listener.keep(first) }
    return QueueListener(address: bound, queue: listener.queue) {
      keeping.cancel()
      await keeping.value
    }
  }

  private func listen(on port: Int, by deadline: NIODeadline) async throws -> SSHPortListener {
    try await pool.listen(
      host: host, port: port, of: target, on: context.group, by: deadline, queue: queue, logger: context.logger)
  }

  private func keep(_ first: SSHPortListener) async {
    var backoff = Backoff()
    var lastMessage = ""
    var current: SSHPortListener? = first
    while true {
      if let listener = current {
        let start = NIODeadline.now()
        await listener.endOrCancellation()
        if Task.isCancelled { return }
        context.logger.warning("Listening lost", metadata: ["server": "\(target.host)", "port": "\(first.number)"])
        if .now() - start > Self.successfulLife { backoff.reset() } else { backoff.fail() }
      }
      try? await Task.sleep(for: .nanoseconds(backoff.pause(fraction: .random(in: 0...1)).nanoseconds))
      if Task.isCancelled { return }
      do {
        current = try await listen(on: first.number, by: .now() + Self.connectLimit)
        context.logger.notice("Listening again", metadata: ["server": "\(target.host)", "port": "\(first.number)"])
        lastMessage = ""
      } catch {
        current = nil
        backoff.fail()
        // Logs each reason only once: the remote host may be away for days.
        let message = "\(error)"
        if message != lastMessage {
          context.logger.warning("Cannot listen", metadata: ["server": "\(target.host)", "reason": "\(message)"])
        }
        lastMessage = message
      }
    }
  }
}

extension SSHPortListener {
  /// Returns when the listener has ended. Cancelling the task stops it.
  fileprivate func endOrCancellation() async {
    await withTaskCancellationHandler {
      try? await ended.get()
    } onCancel: {
      stop()
    }
  }
}

extension LinkAddress {
  /// The same address, with the port that the server chose.
  fileprivate func replacingListenedPort(_ port: Int) throws -> LinkAddress {
    guard let listen = self[option: "listen"], let mark = text.firstIndex(of: "?") else { return self }
    let host = listen.lastIndex(of: ":").map { String(listen[...$0]) } ?? ""
    let query = text[text.index(after: mark)...].split(separator: "&").map { part in
      part.hasPrefix("listen=") ? "listen=\(host)\(port)" : String(part)
    }
    return try LinkAddress("\(text[..<mark])?\(query.joined(separator: "&"))")
  }
}
