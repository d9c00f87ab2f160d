import CMini

/// A hub that this board dials: when to dial, what to say first, and what the hub answers. docs/wire-protocol.md, section 14.
struct Hub {
  private enum Phase {
    /// No connection.
    case closed
    /// The connection is being made.
    case connecting(since: UInt32)
    /// The greeting was sent, and so many bytes of text have come.
    case greeted(since: UInt32, count: Int)
    /// The line has begun.
    case accepted(since: UInt32)
  }

  /// The events of a connection for its line.
  enum Answer {
    case accepted
    case wait
    /// The connection is of no use.
    case refused
  }

  /// The milliseconds to connect, and to wait for the answer of the hub. The pauses between attempts are in milliseconds too.
  private static var limit: UInt32 { 10_000 }
  private static var firstPause: UInt32 { 500 }
  private static var longestPause: UInt32 { 30_000 }
  /// A connection that lasts for so long is a success.
  private static var success: UInt32 { 2000 }
  private static var mostText: Int { Int(MINI_TEXT) }

  private var address: mini_address
  private let name: Text
  private var phase = Phase.closed
  private var failures: UInt32 = 0
  /// The latest report, so that each failure is reported once: an error number, or the hash of a text.
  private var reported: UInt32 = 0

  init(_ address: mini_address, name: Text) {
    self.address = address
    self.name = name
  }

  var isConnecting: Bool { if case .connecting = phase { true } else { false } }

  /// Milliseconds until an attempt has lasted too long; nil if there is none.
  func limit(_ now: UInt32) -> UInt32? {
    switch phase {
    case .closed, .accepted: return nil
    case .connecting(let since), .greeted(let since, _):
      let spent = now &- since
      return spent < Self.limit ? Self.limit - spent : 0
    }
  }

  // MARK: - A connection

  /// Begins to connect. Returns the descriptor; nil after a failure, which it reports.
  mutating func dial(_ now: UInt32) -> CInt? {
    let result = mini_connect(&address)
    guard result >= 0 else {
      fail(result)
      return nil
    }
    phase = .connecting(since: now)
    return CInt(truncatingIfNeeded: result)
  }

  /// Sends the greeting on a new connection. Returns false after a failure.
  mutating func greet(_ descriptor: CInt, _ incarnation: UInt32, _ now: UInt32) -> Bool {
    let result = mini_connected(descriptor)
    guard result == 0 else {
      fail(result)
      return false
    }
    mini_keep_alive(descriptor)
    var greeting = Message()
    greeting.append("byway-line 1 ")
    greeting.append(name)
    greeting.append(" ")
    greeting.append(hexadecimal: incarnation)
    phase = .greeted(since: now, count: 0)
    guard greeting.write(to: descriptor) else {
      fail(0)
      return false
    }
    return true
  }

  /// Takes bytes that come before the line. The first zero is the hub's consent, and what is behind it belongs to the line.
  mutating func receive(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ now: UInt32) -> (
    answer: Answer, used: Int
  ) {
    guard case .greeted(let since, var length) = phase else { return (.accepted, 0) }
    for index in 0..<count {
      if bytes[index] == 0, length == 0 {
        accept(now)
        return (.accepted, index)
      }
      if bytes[index] == 0 || bytes[index] == UInt8(ascii: "\n") || length == Self.mostText {
        explain(length)
        return (.refused, index)
      }
      mini_text()[length] = bytes[index]
      length += 1
      phase = .greeted(since: since, count: length)
    }
    return (.wait, count)
  }

  private mutating func accept(_ now: UInt32) {
    phase = .accepted(since: now)
    reported = 0
    var text = message("connected to ")
    text.append(address)
    text.append(" as ")
    text.append(name)
    text.append(".")
    text.log()
  }

  /// The connection is over. Returns the time of the next one.
  mutating func over(_ now: UInt32) -> UInt32 {
    switch phase {
    case .accepted(let since):
      if now &- since >= Self.success { failures = 0 }
      var text = message("")
      text.append(address)
      text.append(" is gone: dialing again. A session waits for 30 s.")
      text.log()
    case .greeted(_, let count): if count > 0 { explain(count) } else { fail(0) }
    case .connecting: fail(-Int(MINI_ETIMEDOUT))
    case .closed: break
    }
    phase = .closed
    let longest = failures < 6 ? Self.firstPause << failures : Self.longestPause
    failures += 1
    // Boards that have lost their hub at the same time do not come back at the same time.
    return now &+ longest / 2 &+ mini_random() % (longest / 2)
  }

  // MARK: - Reports

  /// Reports the text that came in place of the line.
  private mutating func explain(_ count: Int) {
    let said = Text(mini_text(), count: count)
    var hash: UInt32 = 2_166_136_261
    for index in 0..<count {
      hash = (hash ^ UInt32(mini_text()[index])) &* 16_777_619
      if mini_text()[index] < 0x20 || mini_text()[index] > 0x7E { mini_text()[index] = UInt8(ascii: "?") }
    }
    phase = .closed
    guard hash != reported else { return }
    reported = hash
    var text = message("")
    if let reason = said.after("refused ") {
      text.append("refused by ")
      text.append(address)
      text.append(": ")
      text.append(reason)
      text.append(".")
    } else {
      text.append(address)
      text.append(" is no hub for boards: ")
      if said.hasPrefix("PRI * HTTP/2") {
        text.append("add http=1.1 to its --hub.")
      } else {
        text.append("it says \"")
        text.append(said)
        text.append("\". Correct --link.")
      }
    }
    text.log()
  }

  /// Reports that no connection came about. 0: the hub has closed it, or said nothing.
  private mutating func fail(_ result: Int) {
    phase = .closed
    let code = UInt32(truncatingIfNeeded: -result)
    guard code + 1 != reported else { return }
    reported = code + 1
    var text = message("Waiting for ")
    text.append(address)
    switch code {
    case 0: text.append(": it does not answer as a hub: add http=1.1 to its --hub, or correct --link.")
    case UInt32(MINI_ECONNREFUSED): text.append(": nothing listens there: start byway proxy --hub, or correct --link.")
    case UInt32(MINI_ENOENT), UInt32(MINI_ENOTDIR):
      text.append(": there is no such socket: start the program that makes it, or correct --link.")
    case UInt32(MINI_EACCES): text.append(": permission denied: let this user open the socket.")
    case UInt32(MINI_ETIMEDOUT): text.append(": it did not answer in time: check the address, and firewalls.")
    case UInt32(MINI_ENETUNREACH), UInt32(MINI_EHOSTUNREACH):
      text.append(": there is no way to it: check the network, and the address.")
    default:
      text.append(": cannot connect, error ")
      text.append(code)
      text.append(".")
    }
    text.log()
  }
}
