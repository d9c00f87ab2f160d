import Byway
import Logging
import NIOCore
import NIOPosix

/// A connection for all links with the same login. It is opened with the first link, and closed some time after the last one
/// has ended.
///
/// Sendable: all mutable state is used on the event loop only.
final class SharedSession: @unchecked Sendable {
  let target: SSHLoginTarget
  let eventLoop: any EventLoop
  private let pool: SSHSessionPool
  private let logger: Logger
  private let depth: Int
  private var connection: SSHConnection?
  private var establishing: EventLoopFuture<SSHConnection>?
  private var task: Task<Void, Never>?
  private var waiting = 0
  private var isOver = false
  private var failure: SSHFailure?

  init(_ target: SSHLoginTarget, on eventLoop: any EventLoop, pool: SSHSessionPool, depth: Int, logger: Logger) {
    self.target = target
    self.eventLoop = eventLoop
    self.pool = pool
    self.depth = depth
    self.logger = logger
  }

  // MARK: For links

  func open(
    _ destination: SSHDestination, by deadline: NIODeadline, logger: Logger
  ) -> EventLoopFuture<any Channel> {
    eventLoop.flatSubmit {
      self.established(by: deadline).assumeIsolated()
        .flatMap { $0.open(destination, by: deadline, logger: logger) }.nonisolated()
    }
  }

  func listen(
    host: String, port: Int, by deadline: NIODeadline, queue: ChannelQueue
  ) -> EventLoopFuture<SSHPortListener> {
    eventLoop.flatSubmit {
      self.established(by: deadline).assumeIsolated()
        .flatMap { $0.listen(host: host, port: port, by: deadline, queue: queue) }.nonisolated()
    }
  }

  func logIn(by deadline: NIODeadline) -> EventLoopFuture<Void> {
    eventLoop.flatSubmit { self.established(by: deadline).assumeIsolated().map { _ in }.nonisolated() }
  }

  private func established(by deadline: NIODeadline) -> EventLoopFuture<SSHConnection> {
    if isOver || connection?.isUsable == false { return eventLoop.makeFailedFuture(SSHConnection.Gone()) }
    let promise = eventLoop.makePromise(of: SSHConnection.self)
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { promise.fail(self.late) }
    waiting += 1
    let establishing = establishing ?? begin()
    self.establishing = establishing
    establishing.cascade(to: promise)
    promise.futureResult.assumeIsolated().whenComplete { _ in
      timeout.cancel()
      self.waiting -= 1
      if self.waiting == 0 { self.cancel() }
    }
    return promise.futureResult
  }

  /// Called when no link waits any more. A login continues: the user may be typing a password, and the next attempt finds it
  /// done.
  private func cancel() {
    guard !isOver else { return }
    if let connection {
      guard case .handshaking = connection.phase else { return }
      connection.end(late)
    }
    over()
  }

  private var late: BywayError {
    let problem = failure ?? SSHFailure(server: target.host, user: target.user ?? "")
    guard let connection else { return problem.connecting(ChannelError.connectTimeout(.zero)) }
    if case .handshaking = connection.phase {
      return connection.identification.software.map(problem.late) ?? problem.silence
    }
    return problem.lateLogin
  }

  private func over() {
    isOver = true
    task?.cancel()
    pool.remove(self)
  }

  // MARK: Establishing

  private func begin() -> EventLoopFuture<SSHConnection> {
    let promise = eventLoop.makePromise(of: SSHConnection.self)
    task = Task {
      do {
        try await self.establish(promise)
      } catch {
        promise.fail(error)
      }
    }
    promise.futureResult.assumeIsolated().whenFailure { _ in self.over() }
    return promise.futureResult
  }

  private func establish(_ promise: EventLoopPromise<SSHConnection>) async throws {
    var settings = try await HostSettings.resolve(
      alias: target.host, user: target.user, port: target.port, options: target.options)
    if let jumps = target.jumps { settings.jumps = jumps }
    if !settings.ignored.isEmpty {
      logger.debug("Not understood", metadata: ["ssh_config": "\(settings.ignored.joined(separator: ", "))"])
    }
    if pool.journal?.mayAsk == false { settings.asksNobody = true }
    let failure = SSHFailure(settings)
    let page = pool.journal?.open(SSHHop(settings, server: failure.server), depth: depth)
    try await eventLoop.submit { self.failure = failure }.get()
    let channel = try await transport(settings, failure)
    do {
      page?.note { $0.stage = .connected }
      let deadline = NIODeadline.now() + pool.limits.login
      // If the link has been given up, this task is cancelled here.
      let verifier = try await KnownHostsVerifier(settings, logger: logger, page: page)
      let introduction = SSHConnection.Introduction(
        user: settings.user, verifier: verifier,
        plan: LoginPlan(settings, group: eventLoop, logger: logger, deadline: deadline), page: page)
      try await eventLoop.flatSubmit { self.begin(promise, on: channel, introduction, failure) }.get()
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  private func begin(
    _ promise: EventLoopPromise<SSHConnection>, on channel: any Channel, _ introduction: SSHConnection.Introduction,
    _ failure: SSHFailure
  ) -> EventLoopFuture<Void> {
    guard !isOver else { return eventLoop.makeFailedFuture(SSHConnection.Gone()) }
    let session: SSHSession
    do {
      session = try SSHSession(preferredHostKeys: introduction.verifier.preferredAlgorithms)
    } catch {
      return eventLoop.makeFailedFuture(failure.unavailable("No SSH session can be made.", error))
    }
    let connection = SSHConnection(
      session, introduction, failure: failure, on: eventLoop, limits: pool.limits, logger: logger)
    self.connection = connection
    connection.ended.assumeIsolated().whenComplete { _ in self.over() }
    let ready = connection.begin(on: channel)
    // Immediately, so that a waiting link opens its channel before the connection counts as unused.
    ready.assumeIsolated().whenSuccess { promise.succeed(connection) }
    return ready
  }

  /// Opens the stream of the session: TCP, or a channel of the last jump host's session.
  private func transport(_ settings: HostSettings, _ failure: SSHFailure) async throws -> any Channel {
    let deadline = NIODeadline.now() + pool.limits.connecting
    guard let last = settings.jumps.last else { return try await connect(settings, failure, by: deadline) }
    guard depth < pool.limits.jumps else {
      throw failure.unavailable("The way to \(failure.server) has more than \(pool.limits.jumps) stops.")
    }
    let before = settings.jumps.dropLast()
    let stop = SSHLoginTarget(
      user: last.user, host: last.host, port: last.port, options: target.options.forJump,
      jumps: before.isEmpty ? nil : Array(before))
    return try await pool.open(
      .port(host: settings.host, port: settings.port), of: stop, on: eventLoop, by: deadline, logger: logger,
      depth: depth + 1)
  }

  private func connect(
    _ settings: HostSettings, _ failure: SSHFailure, by deadline: NIODeadline
  ) async throws -> any Channel {
    do {
      return try await ClientBootstrap(group: eventLoop)
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelOption(.writeBufferWaterMark, value: .init(low: 64 * 1024, high: 256 * 1024))
        .connectTimeout(deadline - .now())
        .channelInitializer { $0.prepareForHandover() }
        .connect(host: settings.host, port: settings.port).get()
    } catch {
      throw failure.connecting(error)
    }
  }
}
