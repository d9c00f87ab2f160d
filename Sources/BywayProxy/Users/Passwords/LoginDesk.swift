import Byway
import NIOCore

/// Decides what becomes of logins by password, which are slow to check on purpose: what is known already, what is checked, who
/// has to wait. Time is an argument.
struct LoginDesk {
  /// A name with its password, as a keyed hash that nobody can undo: passwords are not kept.
  typealias Digest = [UInt8]
  typealias Ticket = UInt64

  struct Limits {
    /// How long a login that was right need not be checked again.
    var memory = TimeAmount.minutes(10)
    /// Logins that are remembered.
    var remembered = 1024
    /// Checks that run at once.
    var running = PasswordChecker.threadLimit
    /// Checks that run or wait.
    var checks = 1024
    /// Of them, from one place.
    var checksOfOne = 64
    /// Who waits for one check.
    var waiters = 1024
    /// Wrong passwords for a name from one place, after which the next has to wait.
    var freeFailures = 3
    var longestPause = TimeAmount.seconds(60)
    /// Names and places whose failures are counted.
    var counted = 4096
  }

  enum Answer: Equatable {
    /// It was right a short while ago.
    case known(UserName)
    /// It is checked when its turn comes.
    /// - isNew: nobody has asked for the same check before.
    case wait(Ticket, isNew: Bool)
    /// Too many wrong ones came from there for that name.
    case paused(TimeAmount)
    /// Too much is being checked.
    case busy
  }

  /// What is to be done now.
  enum Step: Equatable {
    case check(Ticket)
    /// Wrong ones that came with it have been checked before it.
    case refuse(Ticket, TimeAmount)
  }

  private struct Check {
    let digest: Digest
    let place: Place
    /// They are begun in the order of these: as they came, but what waits behind others of its place lets some of other places by.
    let turn: UInt64
    var waiters = 1
    var isRunning = false
  }

  private struct Place: Hashable {
    /// `nil` where one client cannot be told from another.
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
  /// Those that have not begun, in the order in which they came.
  private var queue: [Ticket] = []
  private var failures: [Place: Failures] = [:]
  private var lastTicket: Ticket = 0

  init(_ limits: Limits = Limits()) {
    self.limits = limits
  }

  /// - Parameters:
  ///   - name: that somebody claims.
  ///   - peer: where they are; `nil` where one cannot be told from another, so that nobody's guesses keep out somebody else.
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

  /// - Returns: `nil` where nothing waits, or enough runs.
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

  /// - Parameter user: whose login it is; `nil` where it is wrong.
  mutating func checked(_ ticket: Ticket, _ user: UserName?, at now: NIODeadline) {
    guard let check = end(ticket) else { return }
    guard let user else { return fail(check.place, at: now) }
    failures[check.place] = nil
    if remembered.count >= limits.remembered { forgetOldest() }
    remembered[check.digest] = (user, now + limits.memory)
  }

  /// It was not checked, or nobody waits for that any more.
  mutating func skipped(_ ticket: Ticket) {
    _ = end(ticket)
  }

  private mutating func end(_ ticket: Ticket) -> Check? {
    guard let check = checks.removeValue(forKey: ticket) else { return nil }
    tickets[check.digest] = nil
    if !check.isRunning { queue.removeAll { $0 == ticket } }
    return check
  }

  /// Those after the first few cost twice as long a pause each.
  private mutating func fail(_ place: Place, at now: NIODeadline) {
    guard place.peer != nil else { return }
    if failures[place] == nil, failures.count >= limits.counted,
      let first = failures.min(by: { $0.value.until < $1.value.until })
    {
      failures[first.key] = nil
    }
    var entry = failures[place] ?? Failures()
    // Who has left it alone for long begins anew.
    if entry.until + limits.memory < now { entry.count = 0 }
    entry.count += 1
    let excess = entry.count - limits.freeFailures
    let pause = excess < 0 ? .zero : min(limits.longestPause, .seconds(1 << Int64(min(excess, 10))))
    entry.until = now + pause
    failures[place] = entry
  }

  private mutating func forgetOldest() {
    if let oldest = remembered.min(by: { $0.value.until < $1.value.until }) { remembered[oldest.key] = nil }
  }
}
