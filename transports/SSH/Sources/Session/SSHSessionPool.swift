import Byway
import Logging
import NIOCore
import Synchronization

/// The sessions that links share: one for each event loop, host and login. Safe on any thread.
final class SSHSessionPool: Sendable {
  private struct Key: Hashable {
    let target: SSHLoginTarget
    let loop: ObjectIdentifier

    init(_ target: SSHLoginTarget, _ loop: any EventLoop) {
      self.target = target
      self.loop = ObjectIdentifier(loop)
    }
  }

  let limits: SSHLimits
  /// The journal, if the sessions are examined.
  let journal: SSHJournal?
  private let sessions = Mutex<[Key: SharedSession]>([:])

  init(_ limits: SSHLimits, journal: SSHJournal? = nil) {
    self.limits = limits
    self.journal = journal
  }

  func open(
    _ destination: SSHDestination, of target: SSHLoginTarget, on group: any EventLoopGroup, by deadline: NIODeadline,
    logger: Logger, depth: Int = 0
  ) async throws -> any Channel {
    try await withSession(target, group, depth, logger) {
      try await $0.open(destination, by: deadline, logger: logger).get()
    }
  }

  func listen(
    host: String, port: Int, of target: SSHLoginTarget, on group: any EventLoopGroup, by deadline: NIODeadline,
    queue: ChannelQueue, logger: Logger
  ) async throws -> SSHPortListener {
    try await withSession(target, group, 0, logger) {
      try await $0.listen(host: host, port: port, by: deadline, queue: queue).get()
    }
  }

  func logIn(
    to target: SSHLoginTarget, on group: any EventLoopGroup, by deadline: NIODeadline, logger: Logger
  ) async throws {
    try await withSession(target, group, 0, logger) { try await $0.logIn(by: deadline).get() }
  }

  func remove(_ session: SharedSession) {
    sessions.withLock { sessions in
      let key = Key(session.target, session.eventLoop)
      if sessions[key] === session { sessions[key] = nil }
    }
  }

  private func withSession<Value>(
    _ target: SSHLoginTarget, _ group: any EventLoopGroup, _ depth: Int, _ logger: Logger,
    _ body: (SharedSession) async throws -> Value
  ) async throws -> Value {
    // A session that has ended in the meantime is replaced by another.
    for _ in 0..<3 {
      let session = session(for: target, group, depth, logger)
      do {
        return try await body(session)
      } catch is SSHConnection.Gone {
        remove(session)
      }
    }
    throw BywayError(
      .linkUnavailable, "Every SSH connection to \(target.host) ends at once.", processing: .none)
  }

  private func session(
    for target: SSHLoginTarget, _ group: any EventLoopGroup, _ depth: Int, _ logger: Logger
  ) -> SharedSession {
    sessions.withLock { sessions in
      for loop in group.makeIterator() {
        if let session = sessions[Key(target, loop)] { return session }
      }
      let loop = group.next()
      let session = SharedSession(target, on: loop, pool: self, depth: depth, logger: logger)
      sessions[Key(target, loop)] = session
      return session
    }
  }
}
