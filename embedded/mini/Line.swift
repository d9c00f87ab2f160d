import CMini

/// `BYWAY_LINE_NEVER`.
private var never: UInt32 { .max }

/// A serial device or a connection to a hub, and the frames that the line layer sends on it.
struct Line {
  private enum Medium {
    case serial(Text, mini_serial)
    case hub(Hub)
  }

  private enum Device {
    case open(CInt)
    /// The hub has not accepted this board yet.
    case dialed(CInt)
    case missing(next: UInt32)
  }

  private static var retry: UInt32 { 250 }
  /// The most bytes that the line layer takes at once.
  private static var portion: Int { 256 }

  private var medium: Medium
  private var device: Device
  private let incarnation = mini_random()
  private var frame: UnsafePointer<UInt8>?
  private var frameCount = 0
  /// The latest failure to open the device, so that each is reported once.
  private var failure = 0
  private var wasOpen = false

  init(_ path: Text, _ settings: mini_serial, _ now: UInt32) {
    self.init(.serial(path, settings), baud: settings.baud, now)
  }

  init(_ hub: Hub, _ now: UInt32) {
    self.init(.hub(hub), baud: 0, now)
  }

  private init(_ medium: Medium, baud: UInt32, _ now: UInt32) {
    self.medium = medium
    device = .missing(next: now)
    byway_line_start(mini_line(), BYWAY_LINE_LISTEN, incarnation, baud, now)
    byway_line_lost(mini_line(), now)
  }

  // MARK: - Waiting

  func want(_ poll: UnsafeMutablePointer<mini_poll>) {
    switch device {
    case .missing: poll.pointee = mini_poll(descriptor: -1, wanted: 0, ready: 0)
    case .dialed(let descriptor):
      var wanted = Int16(MINI_READ)
      if case .hub(let hub) = medium, hub.isConnecting { wanted = Int16(MINI_WRITE) }
      poll.pointee = mini_poll(descriptor: descriptor, wanted: wanted, ready: 0)
    case .open(let descriptor):
      let wanted = Int16(MINI_READ) | (frameCount > 0 ? Int16(MINI_WRITE) : 0)
      poll.pointee = mini_poll(descriptor: descriptor, wanted: wanted, ready: 0)
    }
  }

  /// Milliseconds until something is due.
  func wait(_ now: UInt32) -> UInt32 {
    var wait = byway_line_deadline(mini_line(), now)
    // A frame that the driver has not taken is waited for by its descriptor.
    if frameCount > 0, wait == 0 { wait = 20 }
    if case .hub(let hub) = medium, let limit = hub.limit(now) { wait = min(wait, limit) }
    guard case .missing(let next) = device else { return wait }
    let left = Int32(bitPattern: next &- now)
    return min(wait, left > 0 ? UInt32(left) : 0)
  }

  // MARK: - Bytes

  /// Takes bytes from the device, if there are any. `bytes` has room for a portion.
  mutating func receive(_ ready: Int16, _ now: UInt32) {
    let descriptor: CInt
    switch device {
    case .missing: return
    case .dialed(let dialed):
      descriptor = dialed
      if greets(dialed, ready, now) { return }
    case .open(let opened): descriptor = opened
    }
    guard ready & ~Int16(MINI_WRITE) != 0 else { return }
    var bytes = InlineArray<256, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    let count = span.withUnsafeMutableBufferPointer { buffer -> Int in
      guard let start = buffer.baseAddress else { return 0 }
      let count = mini_get(descriptor, start, Self.portion)
      return count > 0 ? take(start, count, descriptor, now) : count
    }
    if count == 0 || (count < 0 && count != -MINI_EAGAIN && count != -MINI_EINTR) { lose(descriptor, now) }
  }

  /// Passes bytes to the line layer. Returns 0 if the connection is of no use.
  private mutating func take(_ start: UnsafeMutablePointer<UInt8>, _ count: Int, _ descriptor: CInt, _ now: UInt32)
    -> Int
  {
    var used = 0
    if case .dialed = device, case .hub(var hub) = medium {
      let (answer, offset) = hub.receive(start, count, now)
      medium = .hub(hub)
      switch answer {
      case .refused: return 0
      case .wait: return count
      case .accepted:
        used = offset
        device = .open(descriptor)
        byway_line_back(mini_line(), now)
      }
    }
    byway_line_receive(mini_line(), start + used, count - used, now)
    return count
  }

  /// Sends the greeting as soon as the hub is connected. Returns false if an answer may come.
  private mutating func greets(_ descriptor: CInt, _ ready: Int16, _ now: UInt32) -> Bool {
    guard case .hub(var hub) = medium else { return true }
    if hub.isConnecting, ready != 0 {
      let isConnected = hub.greet(descriptor, incarnation, now)
      medium = .hub(hub)
      if !isConnected { lose(descriptor, now) }
      return true
    }
    if hub.limit(now) == 0 {
      lose(descriptor, now)
      return true
    }
    return hub.isConnecting
  }

  /// Opens the device if it is due, and sends frames.
  mutating func run(_ now: UInt32) {
    if case .missing(let next) = device, Int32(bitPattern: now &- next) >= 0 { open(now) }
    byway_line_run(mini_line(), now)
    while case .open(let descriptor) = device {
      if frameCount == 0 { frameCount = byway_line_output(mini_line(), now, &frame) }
      guard frameCount > 0, let frame else { return }
      let count = mini_write(descriptor, frame, frameCount)
      if count == -MINI_EAGAIN || count == -MINI_EINTR { return }
      guard count > 0 else { return lose(descriptor, now) }
      self.frame = frame + count
      frameCount -= count
    }
  }

  /// Ends the session, and gives the device back.
  mutating func close() {
    byway_line_abort(mini_line())
    // The pacing may hold the last frame back for some milliseconds.
    for _ in 0..<20 {
      let now = mini_milliseconds()
      run(now)
      if frameCount == 0, byway_line_deadline(mini_line(), now) == never { break }
      _ = mini_wait(0, 5)
    }
    guard case .open(let descriptor) = device else { return }
    if case .serial = medium { mini_close_serial(descriptor) } else { mini_close(descriptor) }
  }

  // MARK: - The device

  private mutating func open(_ now: UInt32) {
    switch medium {
    case .serial(let path, let settings): open(path, settings, now)
    case .hub(var hub):
      let descriptor = hub.dial(now)
      device = descriptor.map { .dialed($0) } ?? .missing(next: hub.over(now))
      medium = .hub(hub)
    }
  }

  private mutating func open(_ path: Text, _ settings: mini_serial, _ now: UInt32) {
    var settings = settings
    let result = mini_open_serial(path.characters, path.count, &settings)
    guard result >= 0 else {
      device = .missing(next: now &+ Self.retry)
      if result != failure { report(path, result) }
      failure = result
      return
    }
    if failure != 0 || wasOpen { message("", path, " is open.").log() }
    failure = 0
    wasOpen = true
    device = .open(CInt(truncatingIfNeeded: result))
    byway_line_back(mini_line(), now)
  }

  private mutating func lose(_ descriptor: CInt, _ now: UInt32) {
    mini_close(descriptor)
    frameCount = 0
    byway_line_lost(mini_line(), now)
    switch medium {
    case .serial(let path, _):
      device = .missing(next: now &+ Self.retry)
      message("", path, " is gone: plug it in again. A session waits for 30 s.").log()
    case .hub(var hub):
      device = .missing(next: hub.over(now))
      medium = .hub(hub)
    }
  }

  private func report(_ path: Text, _ result: Int) {
    switch -result {
    case Int(MINI_ENOENT):
      message("Waiting for ", path, ": there is no such device: plug it in, or correct --link.").log()
    case Int(MINI_EACCES):
      message("Waiting for ", path, ": permission denied: add the user to the group of the device, often dialout.")
        .log()
    case Int(MINI_EBUSY): message("Waiting for ", path, ": another process uses it: stop that one.").log()
    case Int(MINI_ENOTTY): message("Waiting for ", path, ": it is not a serial device: correct --link.").log()
    case Int(MINI_EADDRNOTAVAIL):
      message(
        "Waiting for ", path, ": its driver does not take these settings: use another rate or parity at both ends."
      ).log()
    default:
      var text = message("Waiting for ", path, ": it cannot be opened, error ")
      text.append(UInt32(truncatingIfNeeded: -result))
      text.append(".")
      text.log()
    }
  }
}
