import CMini

/// The main loop: it waits for descriptors and deadlines, and passes bytes on.
struct Relay {
  private enum Source {
    case listener(CInt, mini_address, mini_file)
    case line(Line)
    case standardStreams
  }

  /// Milliseconds without accepting.
  private static var pause: UInt32 { 500 }
  /// Milliseconds between reports of the same failure.
  private static var quiet: UInt32 { 10_000 }

  private let idle: UInt32
  private var target: mini_address
  private var source: Source
  private var stopSignals: CInt
  private var connections: InlineArray<16, Connection>
  private var session: UInt8 = 0
  private var streams = Streams()
  /// The connection whose turn it is to send first.
  private var first = 0
  /// The end of a pause in which nothing is accepted, because the process or the system has no descriptor left.
  private var pauseEnd: UInt32?
  /// The latest failure of the target, when it was reported, and how many of its kind were not.
  private var failure = 1
  private var reported: UInt32 = 0
  private var unreported: UInt32 = 0

  private var polls: UnsafeMutablePointer<mini_poll> { mini_polls() }

  init(_ options: Options) {
    let now = mini_milliseconds()
    idle = options.idle
    target = options.target
    connections = InlineArray { Connection(place: $0) }
    stopSignals = CInt(truncatingIfNeeded: mini_stop_signals())
    source = Relay.open(options.link, now)
    if case .standardStreams = source { begin(.standardStreams, at: 0, now) }
  }

  // MARK: - The link

  private static func open(_ link: Link, _ now: UInt32) -> Source {
    switch link {
    case .serial(let device, let settings):
      let type = mini_type_of(device.characters, device.count)
      guard type == MINI_MISSING || type == MINI_DEVICE else {
        stop(.usage, message("--link: ", device, " is not a serial device: write serial:/dev/ttyS0."))
      }
      return .line(Line(device, settings, now))
    case .hub(let address, let name): return .line(Line(Hub(address, name: name), now))
    case .standardStreams:
      for descriptor in CInt(0)...1 {
        let type = mini_type_of_descriptor(descriptor)
        guard type == MINI_PIPE || type == MINI_SOCKET else {
          stop(
            .unavailable,
            message("stdio: needs a pipe or a socket as standard input and output: start it with exec:, sshd or inetd.")
          )
        }
      }
      return .standardStreams
    case .listener(var address, let mode):
      var file = mini_file()
      var port = address.port
      let descriptor = mini_listen(&address, mode, &port, &file)
      guard descriptor >= 0 else { stopListening(address, descriptor) }
      address.port = port
      return .listener(CInt(truncatingIfNeeded: descriptor), address, file)
    }
  }

  private static func stopListening(_ address: mini_address, _ result: Int) -> Never {
    var text = message("")
    text.append(address)
    switch -result {
    case Int(MINI_EADDRINUSE):
      text.append(
        address.is_unix != 0
          ? " is in use, or not a socket: stop its owner, or choose another path."
          : " is in use: stop its owner, or choose another port.")
      stop(.unavailable, text)
    case Int(MINI_ENOENT), Int(MINI_ENOTDIR):
      text.append(" cannot be created: there is no such directory: make it, or correct the path.")
      stop(.cannotCreate, text)
    case Int(MINI_EACCES):
      text.append(": permission denied: choose another directory, or a port from 1024 on.")
      stop(.cannotCreate, text)
    case Int(MINI_EADDRNOTAVAIL):
      text.append(" is not an address of this machine: write 127.0.0.1, or another of its addresses.")
      stop(.usage, text)
    default:
      text.append(" cannot be used, error ")
      text.append(UInt32(truncatingIfNeeded: -result))
      text.append(".")
      stop(.cannotCreate, text)
    }
  }

  func printReady(_ options: Options) {
    let link = options.linkText
    var text = message("")
    if case .hub(_, let name) = options.link {
      text.append("started as ")
      text.append(name)
      text.append(", dials ")
    } else {
      text.append("ready on ")
    }
    if case .listener(_, let address, _) = source { text.append(address) } else { text.append(link) }
    text.append(" → ")
    text.append(target)
    text.log()
  }

  // MARK: - The loop

  mutating func run() -> Never {
    while true {
      let wait = prepare(mini_milliseconds())
      let result = mini_wait(UInt32(MINI_POLLS), Int32(min(wait, 60_000)))
      // After a signal that interrupts the wait, nothing is ready.
      if result == -MINI_EINTR { continue }
      guard result >= 0 else {
        stop(.unavailable, message("The limit of open files is too low: allow 64 of them (ulimit -n)."))
      }
      turn(mini_milliseconds())
    }
  }

  private var hasFree: Bool {
    for place in 0..<connections.count where connections[place].isFree { return true }
    return false
  }

  /// Fills in what to wait for, and returns for how many milliseconds.
  private func prepare(_ now: UInt32) -> UInt32 {
    var wait = UInt32.max
    let isFull = !hasFree
    polls[0] = mini_poll(descriptor: stopSignals, wanted: Int16(MINI_READ), ready: 0)
    polls[1] = mini_poll(descriptor: -1, wanted: 0, ready: 0)
    polls[2] = polls[1]
    switch source {
    case .listener(let descriptor, _, _):
      if let pauseEnd {
        wait = UInt32(max(0, Int32(bitPattern: pauseEnd &- now)))
      } else if !isFull {
        polls[1] = mini_poll(descriptor: descriptor, wanted: Int16(MINI_READ), ready: 0)
      }
    case .line(let line):
      line.want(polls + 2)
      wait = line.wait(now)
    case .standardStreams: break
    }
    for place in 0..<connections.count {
      connections[place].want(polls + 3 + 3 * place)
      guard !connections[place].isFree, let limit = connections[place].limit(idle, isFull: isFull) else { continue }
      let silence = connections[place].silence(now)
      wait = min(wait, silence < limit ? limit - silence : 0)
    }
    return wait
  }

  private mutating func turn(_ now: UInt32) {
    if polls[0].ready != 0 { end(now) }
    if let end = pauseEnd, Int32(bitPattern: now &- end) >= 0 { pauseEnd = nil }
    receive(now)
    let isFull = !hasFree
    first = (first + 1) % connections.count
    for step in 0..<connections.count {
      let place = (first + step) % connections.count
      report(connections[place].run(polls + 3 + 3 * place, now), now)
      guard !connections[place].isFree, let limit = connections[place].limit(idle, isFull: isFull) else { continue }
      if connections[place].silence(now) >= limit { report(connections[place].expire(now), now) }
    }
    if case .line(var line) = source {
      if streams.count > 0 { pour(now) }
      line.run(now)
      source = .line(line)
      // A timer may have ended the session.
      follow(now)
    }
    if polls[1].ready != 0 { accept(now) }
    if case .standardStreams = source, connections[0].isFree { mini_exit(ExitStatus.success.rawValue) }
  }

  private mutating func accept(_ now: UInt32) {
    guard case .listener(let listener, _, _) = source else { return }
    for place in 0..<connections.count where connections[place].isFree {
      let descriptor = mini_accept(listener)
      if descriptor == -MINI_EMFILE || descriptor == -MINI_ENFILE { pauseEnd = now &+ Self.pause }
      guard descriptor >= 0 else { return }
      begin(.socket(CInt(truncatingIfNeeded: descriptor)), at: place, now)
    }
  }

  private mutating func begin(_ link: Endpoint, at place: Int, _ now: UInt32) {
    // The results of the wait belong to the connection before.
    for index in 0..<3 { polls[3 + 3 * place + index].ready = 0 }
    report(connections[place].begin(link, &target, now), now)
  }

  /// Takes bytes of the line.
  private mutating func receive(_ now: UInt32) {
    guard case .line(var line) = source else { return }
    line.receive(polls[2].ready, now)
    source = .line(line)
    follow(now)
  }

  /// Lets streams send more of what waits, in turn.
  private mutating func pour(_ now: UInt32) {
    for _ in 0..<3 {
      streams.flush()
      for step in 0..<streams.count { connections[(first + step) % streams.count].pour(now) }
    }
    streams.flush()
  }

  /// Passes what the client sends on streams to their connections.
  private mutating func carry(_ now: UInt32) {
    while let event = streams.next() {
      switch event {
      case .begun(let number):
        // The target may not have taken all of the stream before.
        connections[number].forget()
        begin(.stream(number), at: number, now)
      case .data(let number, let limit):
        let count = connections[number].take(limit, now)
        if count == 0 { return }
        streams.took(count)
      case .ended(let number): connections[number].endInput()
      case .aborted(let number): connections[number].forget()
      case .violated:
        message("The other end broke the rules of streams: use the same version of byway there.").log()
        streams.stop()
        forgetAll()
        return byway_line_abort(mini_line())
      }
    }
    if byway_line_ended(mini_line()) != 0, byway_line_state(mini_line()) != BYWAY_LINE_NONE {
      forgetAll()
      byway_line_finish(mini_line())
    }
  }

  private mutating func forgetAll() {
    for place in 0..<connections.count { connections[place].forget() }
  }

  /// Follows the session of the line: a new one has a new connection to the target, and one that was cut off resets it.
  private mutating func follow(_ now: UInt32) {
    if byway_line_sessions(mini_line()) != session {
      session = byway_line_sessions(mini_line())
      forgetAll()
      streams.begin()
      if streams.count == 0 { begin(.line, at: 0, now) }
    } else if byway_line_state(mini_line()) == BYWAY_LINE_NONE, byway_line_reason(mini_line()) != BYWAY_LINE_FINISHED {
      forgetAll()
    }
    if streams.count > 0 { carry(now) }
  }

  /// Ends the program, after SIGTERM or SIGINT.
  private mutating func end(_ now: UInt32) -> Never {
    for place in 0..<connections.count { connections[place].reset() }
    switch source {
    case .listener(_, var address, var file): if address.is_unix != 0 { mini_remove(&address, &file) }
    case .line(var line): line.close()
    case .standardStreams: break
    }
    mini_exit(ExitStatus.success.rawValue)
  }

  // MARK: - Reports

  /// Reports that the target could not be reached: the first failure of a kind at once, further ones every ten seconds.
  private mutating func report(_ result: Connection.Failure?, _ now: UInt32) {
    guard case .target(let error) = result else { return }
    if case .standardStreams = source { stop(.unavailable, text(for: error)) }
    if error == failure, now &- reported < Self.quiet {
      unreported += 1
      return
    }
    var text = text(for: error)
    if unreported > 0 {
      text.append(" (count=")
      text.append(unreported + 1)
      text.append(")")
    }
    text.log()
    failure = error
    reported = now
    unreported = 0
  }

  private func text(for error: Int) -> Message {
    var text = message("")
    text.append(target)
    switch -error {
    case 0: text.append(" did not answer in time: check the address in --to, and firewalls.")
    case Int(MINI_ECONNREFUSED): text.append(": nothing listens there: start the service, or correct --to.")
    case Int(MINI_ENOENT), Int(MINI_ENOTDIR):
      text.append(": there is no such socket: start the service, or correct --to.")
    case Int(MINI_EACCES): text.append(": permission denied: let this user open the socket.")
    case Int(MINI_EAGAIN): text.append(" is busy: it takes too few connections.")
    default:
      text.append(": cannot connect, error ")
      text.append(UInt32(truncatingIfNeeded: -error))
      text.append(".")
    }
    return text
  }
}
