import Byway
import NIOCore

/// Schedules the checks of password logins, which are slow on purpose: decides which are known already, which are checked, and
/// which have to wait. Time is an argument.
struct LoginScheduler {
  /// A name with its password, as a keyed hash that cannot be reversed: passwords are not stored.
  typealias Digest = [UInt8]
  typealias Ticket = UInt64

  struct Limits {
    /// How long a correct login need not be checked again.
    var memory = TimeAmount.minutes(10)
    /// The maximum number of remembered logins.
    var remembered = 1024
    /// The maximum number of checks that run at once.
    var running = PasswordChecker.threadLimit
    /// The maximum number of checks that run or wait.
    var checks = 1024
    /// The maximum number of these from one peer.
    var checksOfOne = 64
    /// The maximum number of requests that wait for one check.
    var waiters = 1024
    /// The number of wrong passwords for a name from one peer after which the next login has to wait.
    var freeFailures = 3
    var longestPause = TimeAmount.seconds(60)
    /// The maximum number of pairs of name and peer whose failures are counted.
    var counted = 4096
  }

  enum Answer: Equatable {
    /// The login was correct a short while ago.
    case known(UserName)
    /// The login is checked when its turn comes.
    /// - isNew: whether no other request waits for the same check.
    case wait(Ticket, isNew: Bool)
    /// Too many wrong logins came from this peer for this name.
    case paused(TimeAmount)
    /// Too many checks are running or waiting.
    case busy
  }

  /// The next action.
  enum Step: Equatable {
    case check(Ticket)
    /// Refuse this login: earlier logins from the same peer for the same name were wrong.
    case refuse(Ticket, TimeAmount)
  }

  private struct Check {
    let digest: Digest
    let place: Place
    /// Checks begin in this order: as they came, but one that waits behind others of its peer lets some of other peers pass.
    let turn: UInt64
    var waiters = 1
    var isRunning = false
  }

  private struct Place: Hashable {
    /// `nil` if clients cannot be distinguished.
    let peer: String?
    let name: String
  }

  private struct Failures {
    var count = 0
    var until = NIODeadline.uptimeNanoseconds(0)
  }

  private static let spacing: UInt64 = 64

  private let limits: Limits
  private var remembered: [Digest: (user: UserName, until: NIODeadline)] = [:]
  private var checks: [Ticket: Check] = [:]
  private var tickets: [Digest: Ticket] = [:]
  /// The checks that have not begun, in order of arrival.
  private var queue: [Ticket] = []
  private var failures: [Place: Failures] = [:]
  private var lastTicket: Ticket = 0

  init(_ limits: Limits = Limits()) {
    self.limits = limits
  }

  /// - Parameters:
  ///   - name: the name in the login.
  ///   - peer: the client's network; `nil` if clients cannot be distinguished. Then wrong guesses cause no pause for other clients.
  mutating func ask(_ digest: Digest, name: String, from peer: String?, at now: NIODeadline) -> Answer {
    if let entry = remembered[digest] {
      if entry.until > now { return .known(entry.user) }
      remembered[digest] = nil
    }
    if let ticket = tickets[digest] {
      guard let waiters = checks[ticket]?.waiters, waiters < limits.waiters else { return .busy }
      checks[ticket]?.waiters += 1
      return .wait(ticket, isNew: false)
    }
    let place = Place(peer: peer, name: name)
    if let failed = failures[place], failed.until > now { return .paused(failed.until - now) }
    let own = peer == nil ? 0 : checks.values.count { $0.place.peer == peer }
    guard checks.count < limits.checks, own < limits.checksOfOne else { return .busy }
    lastTicket += 1
    checks[lastTicket] = Check(digest: digest, place: place, turn: lastTicket + UInt64(own) * Self.spacing)
    tickets[digest] = lastTicket
    queue.append(lastTicket)
    return .wait(lastTicket, isNew: true)
  }

  /// - Returns: `nil` if no check waits, or the maximum number runs.
  mutating func next(at now: NIODeadline) -> Step? {
    guard checks.values.count(where: \.isRunning) < limits.running else { return nil }
    let next = queue.enumerated().min { left, right in
      let (mine, theirs) = (checks[left.element]?.turn ?? 0, checks[right.element]?.turn ?? 0)
      return mine == theirs ? left.offset < right.offset : mine < theirs
    }
    guard let (index, ticket) = next.map({ ($0.offset, $0.element) }), let check = checks[ticket] else { return nil }
    if let failed = failures[check.place], failed.until > now {
      _ = end(ticket)
      return .refuse(ticket, failed.until - now)
    }
    queue.remove(at: index)
    checks[ticket]?.isRunning = true
    return .check(ticket)
  }

  /// - Parameter user: the user of the login; `nil` if it is wrong.
  mutating func checked(_ ticket: Ticket, _ user: UserName?, at now: NIODeadline) {
    guard let check = end(ticket) else { return }
    guard let user else { return fail(check.place, at: now) }
    failures[check.place] = nil
    if remembered.count >= limits.remembered { removeOldest() }
    remembered[check.digest] = (user, now + limits.memory)
  }

  /// Ends a check without a result: it failed, or no request waits for it any more.
  mutating func skipped(_ ticket: Ticket) {
    _ = end(ticket)
  }

  private mutating func end(_ ticket: Ticket) -> Check? {
    guard let check = checks.removeValue(forKey: ticket) else { return nil }
    tickets[check.digest] = nil
    if !check.isRunning { queue.removeAll { $0 == ticket } }
    return check
  }

  /// Counts a wrong login. After the first few, each doubles the pause.
  private mutating func fail(_ place: Place, at now: NIODeadline) {
    guard place.peer != nil else { return }
    if failures[place] == nil, failures.count >= limits.counted,
      let first = failures.min(by: { $0.value.until < $1.value.until })
    {
      failures[first.key] = nil
    }
    var entry = failures[place] ?? Failures()
    // After a long time without attempts, counting starts again.
    if entry.until + limits.memory < now { entry.count = 0 }
    entry.count += 1
    let excess = entry.count - limits.freeFailures
    let pause = excess < 0 ? .zero : min(limits.longestPause, .seconds(1 << Int64(min(excess, 10))))
    entry.until = now + pause
    failures[place] = entry
  }

  private mutating func removeOldest() {
    if let oldest = remembered.min(by: { $0.value.until < $1.value.until }) { remembered[oldest.key] = nil }
  }
}
