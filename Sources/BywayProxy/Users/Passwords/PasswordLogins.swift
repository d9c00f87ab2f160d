import Byway
import Crypto
import NIOCore

/// Checks logins against the passwords of one file. Lives on its event loop.
final class PasswordLogins {
  enum Outcome: Equatable {
    case welcome(UserName)
    case wrong
    case paused(TimeAmount)
    case busy
  }

  private struct Waiting {
    let login: BasicLogin
    let timer: Scheduled<Void>
    var then: [(Outcome) -> Void]
  }

  private let file: PasswordFile
  private let checker: PasswordChecker
  private let eventLoop: any EventLoop
  private var scheduler = LoginScheduler()
  private var waiting: [LoginScheduler.Ticket: Waiting] = [:]
  /// The key for digests, so that passwords cannot be guessed from them.
  private let key = SymmetricKey(size: .bits256)

  init(_ file: PasswordFile, _ checker: PasswordChecker, on eventLoop: any EventLoop) {
    self.file = file
    self.checker = checker
    self.eventLoop = eventLoop
  }

  /// - Parameter peer: the client's network; `nil` if clients cannot be distinguished.
  /// - Returns: the result if it is known at once; `nil` if `then` is called later, within seconds.
  func ask(_ login: BasicLogin, from peer: String?, then: @escaping (Outcome) -> Void) -> Outcome? {
    let digest = digest(of: login)
    switch scheduler.ask(digest, name: login.name, from: peer, at: eventLoop.now) {
    case .known(let user): return .welcome(user)
    case .paused(let time): return .paused(time)
    case .busy: return .busy
    case .wait(let ticket, let isNew):
      if waiting[ticket] == nil {
        // The check may already be running for other requests that have given up.
        let timer = eventLoop.assumeIsolated().scheduleTask(in: PasswordChecker.patience) { self.end(ticket, .busy) }
        waiting[ticket] = Waiting(login: login, timer: timer, then: [then])
      } else {
        waiting[ticket]?.then.append(then)
      }
      if isNew { checkNext() }
    }
    return nil
  }

  private func checkNext() {
    while let step = scheduler.next(at: eventLoop.now) {
      switch step {
      case .refuse(let ticket, let pause): end(ticket, .paused(pause))
      case .check(let ticket):
        guard let login = waiting[ticket]?.login else {
          scheduler.skipped(ticket)
          continue
        }
        check(login, ticket)
      }
    }
  }

  private func check(_ login: BasicLogin, _ ticket: LoginScheduler.Ticket) {
    let user = UserName(login.name)
    let known = user.flatMap { file[$0] }
    // An unknown user gets the answer no sooner than a known one.
    let hash = known ?? file.other(number(for: login.name))
    checker.check(login.password, against: hash, on: eventLoop).assumeIsolated().whenComplete { result in
      switch result {
      case .success(let isRight):
        let user = isRight && known != nil ? user : nil
        self.scheduler.checked(ticket, user, at: self.eventLoop.now)
        self.end(ticket, user.map { .welcome($0) } ?? .wrong)
      case .failure:
        self.scheduler.skipped(ticket)
        self.end(ticket, .busy)
      }
      self.checkNext()
    }
  }

  /// Answers the waiting requests. A running check continues, for the next request with the same login.
  private func end(_ ticket: LoginScheduler.Ticket, _ outcome: Outcome) {
    guard let entry = waiting.removeValue(forKey: ticket) else { return }
    entry.timer.cancel()
    for then in entry.then { then(outcome) }
  }

  private func digest(of login: BasicLogin) -> LoginScheduler.Digest {
    // A name has no zero byte.
    Array(HMAC<SHA256>.authenticationCode(for: Array(login.name.utf8) + [0] + login.password, using: key))
  }

  /// Returns a number for a name, which stays the same while this file is in force.
  private func number(for name: String) -> UInt {
    HMAC<SHA256>.authenticationCode(for: Array(name.utf8), using: key).prefix(7).reduce(0) { $0 << 8 | UInt($1) }
  }
}
