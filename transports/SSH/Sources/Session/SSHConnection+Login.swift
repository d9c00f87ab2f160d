import Byway
import Logging
import NIOCore

/// The phases from the first byte to the end of the login, each with a deadline.
extension SSHConnection {
  /// The state of a login (RFC 4252).
  final class Login {
    enum Step {
      case asking, choosing
      case trying(LoginStep)
      /// Another thread makes the attempt.
      case unlocking
    }

    let user: String
    let plan: LoginPlan
    let page: SSHJournal.Page?
    var step = Step.asking
    var offers: [String] = [] {
      didSet { page?.note { $0.offers = offers } }
    }
    /// The names of the keys, in the order tried.
    var tried: [String] = [] {
      didSet { page?.note { $0.tried = tried } }
    }

    init(_ introduction: Introduction) {
      user = introduction.user
      plan = introduction.plan
      page = introduction.page
    }
  }

  /// The verifier of the server's key and the plan of the login.
  struct Introduction: Sendable {
    let user: String
    let verifier: any HostKeyVerifier
    let plan: LoginPlan
    /// The journal page, if the session is examined.
    let page: SSHJournal.Page?
  }

  /// Starts on a channel that has been prepared for handover.
  func begin(on channel: any Channel) -> EventLoopFuture<Void> {
    limit(limits.handshake) { connection in
      guard case .handshaking = connection.phase else { return nil }
      return connection.identification.software.map(connection.failure.late) ?? connection.failure.silence
    }
    do {
      try channel.pipeline.syncOperations.addHandler(self)
      channel.startReading()
    } catch {
      channel.close(promise: nil)
      end(failure.connecting(error))
    }
    return ready.futureResult
  }

  private func limit(_ limit: TimeAmount, _ problem: @escaping (SSHConnection) -> BywayError?) {
    let timeout = eventLoop.assumeIsolated().scheduleTask(in: limit) {
      if let error = problem(self) { self.end(error) }
    }
    ready.futureResult.whenComplete { _ in timeout.cancel() }
  }

  // MARK: Trust

  func verify(_ introduction: Introduction) {
    phase = .judging(introduction)
    guard let key = session.hostKey else {
      return end(failure.unavailable("\(failure.server) sent no host key."))
    }
    logger.debug(
      "SSH key exchange done",
      metadata: [
        "server": "\(failure.server)", "software": "\(identification.software ?? "")",
        "algorithms": "\(session.agreement)",
      ])
    introduction.page?.note {
      $0.stage = .agreed
      $0.identification = identification
      $0.agreement = session.agreement
    }
    limit(limits.handshake + limits.login) { connection in
      switch connection.phase {
      case .judging, .loggingIn: connection.failure.lateLogin
      default: nil
      }
    }
    eventLoop.makeFutureWithTask { try await introduction.verifier.verify(key) }
      .assumeIsolated().whenComplete { result in
        guard case .judging = self.phase else { return }
        switch result {
        case .success:
          introduction.page?.note { $0.stage = .trusted }
          self.phase = .loggingIn(Login(introduction))
          self.pump()
        case .failure(let error):
          self.session.disconnect()
          self.flush()
          self.end(BywayError(error))
        }
      }
  }

  // MARK: Login

  func attempt(_ login: Login) throws(SSHError) {
    switch login.step {
    case .asking:
      guard let offers = try session.loginMethods(of: login.user) else { return }
      if offers.isEmpty { return loggedIn() }
      choose(login, from: offers)
    case .choosing, .unlocking: break
    case .trying(.publicKey): conclude(login, try session.logInWithKey(as: login.user))
    case .trying(.lockedKey(let key)): unlock(key, login)
    case .trying(.password(let password)): conclude(login, try session.logIn(as: login.user, password: password))
    case .trying(.keyboardInteractive): conclude(login, try session.logInByKeyboard(as: login.user))
    }
  }

  private func conclude(_ login: Login, _ result: SSHSession.Login?) {
    guard let result else { return }
    session.signer = nil
    session.keyboard = nil
    switch result {
    case .accepted: loggedIn()
    case .denied(let outcome): choose(login, from: login.offers, after: outcome)
    }
  }

  /// Unlocks the key on another thread: deriving a key from a passphrase is slow by design, and would block the event loop.
  private func unlock(_ key: LockedKeyLogin, _ login: Login) {
    login.step = .unlocking
    session.onAnotherThread(eventLoop) { [user = login.user] session throws(SSHError) in
      try session.logIn(as: user, unlocking: key)
    }
    .assumeIsolated().whenSuccess { result, hasMore in
      guard case .loggingIn = self.phase else { return }
      login.step = .trying(.lockedKey(key))
      self.flush()
      switch result {
      case .success(nil) where hasMore: self.pump()
      case .success(let result): self.conclude(login, result)
      case .failure(let error): self.end(self.ending(error))
      }
    }
  }

  private func choose(_ login: Login, from offers: [String], after outcome: LoginStep.Outcome = .refused) {
    let isNew = offers != login.offers
    login.offers = offers
    login.step = .choosing
    eventLoop.makeFutureWithTask { [plan = login.plan] in
      try await plan.next(serverOffers: offers, after: outcome)
    }
    .assumeIsolated().whenComplete { result in
      guard case .loggingIn = self.phase else { return }
      switch result {
      case .success(let step?): self.take(step, login)
      case .success(nil) where isNew: self.refused(login)
      // After one part of a login with several parts, a server offers other methods. Asking for the methods again may cost an
      // attempt.
      case .success(nil):
        login.step = .asking
        login.offers = []
        self.pump()
      case .failure(let error): self.end(BywayError(error))
      }
    }
  }

  private func take(_ step: LoginStep, _ login: Login) {
    switch step {
    case .publicKey(let key):
      login.tried.append(key.name)
      session.signer = Signer(key) { self.sign($0, with: key) }
    case .keyboardInteractive(let keyboard): session.keyboard = keyboard
    case .password, .lockedKey: break
    }
    login.step = .trying(step)
    pump()
  }

  private func sign(_ bytes: [UInt8], with key: PublicKeyLogin) {
    let signer = session.signer
    eventLoop.makeFutureWithTask { try await key.sign(bytes) }
      .assumeIsolated().whenComplete { result in
        guard let signer, signer === self.session.signer else { return }
        if case .failure(let error) = result {
          self.logger.info("Cannot sign", metadata: ["key": "\(key.name)", "reason": "\(error)"])
        }
        signer.finish((try? result.get()) ?? nil)
        self.pump()
      }
  }

  private func refused(_ login: Login) {
    eventLoop.makeFutureWithTask { [plan = login.plan, offers = login.offers] in
      await (plan.failure(serverOffers: offers), plan.report)
    }
    .assumeIsolated().whenComplete { result in
      guard case .loggingIn = self.phase else { return }
      self.session.disconnect()
      self.flush()
      login.page?.note { $0.report = try? result.get().1 }
      self.end((try? result.get().0) ?? self.failure.refusedLogin)
    }
  }

  private func loggedIn() {
    phase.page?.note { $0.stage = .loggedIn }
    phase = .ready(isRetired: false)
    logger.debug("SSH login done", metadata: ["server": "\(failure.server)"])
    watch()
    ready.succeed()
  }
}
