import CMini

/// The result of an attempt to read or write.
enum Transfer {
  case bytes(Int)
  case wait
  case end
  case failure
}

/// A side of a connection.
enum Endpoint {
  case socket(CInt)
  case standardStreams
  /// The session of the line layer.
  case line
  /// A stream of that session, whose bytes come by `Connection.take`.
  case stream(Int)

  /// The descriptor to read from, or -1.
  var input: CInt {
    switch self {
    case .socket(let descriptor): descriptor
    case .standardStreams: 0
    case .line, .stream: -1
    }
  }

  /// The descriptor to write to, or -1.
  var output: CInt {
    switch self {
    case .socket(let descriptor): descriptor
    case .standardStreams: 1
    case .line, .stream: -1
    }
  }

  func read(_ room: (start: UnsafeMutablePointer<UInt8>, count: Int)) -> Transfer {
    if case .stream = self { return .wait }
    guard case .line = self else {
      let count = mini_get(input, room.start, room.count)
      return count == 0 ? .end : Endpoint.transfer(count)
    }
    let count = byway_line_read(mini_line(), room.start, room.count)
    if count > 0 { return .bytes(count) }
    return byway_line_ended(mini_line()) != 0 ? .end : .wait
  }

  func write(_ bytes: (start: UnsafeMutablePointer<UInt8>, count: Int)) -> Transfer {
    if case .stream(let number) = self { return Streams.write(bytes, to: number) }
    guard case .line = self else { return Endpoint.transfer(mini_put(output, bytes.start, bytes.count)) }
    let count = byway_line_write(mini_line(), bytes.start, bytes.count)
    return count > 0 ? .bytes(count) : .wait
  }

  private static func transfer(_ result: Int) -> Transfer {
    if result > 0 { return .bytes(result) }
    return result == -MINI_EAGAIN || result == -MINI_EINTR ? .wait : .failure
  }

  /// Tells the peer that nothing more comes.
  func finish() {
    switch self {
    case .socket(let descriptor): mini_finish(descriptor)
    case .standardStreams:
      mini_finish(1)
      mini_close(1)
    case .line: byway_line_finish(mini_line())
    case .stream(let number): Streams.finish(number)
    }
  }

  /// Closes this side after both directions have ended.
  func close(_ now: UInt32) {
    switch self {
    case .socket(let descriptor): mini_close(descriptor)
    case .standardStreams: mini_close(0)
    case .stream: break
    case .line: if byway_line_ended(mini_line()) == 0 { byway_line_leave(mini_line(), now) }
    }
  }

  /// Closes this side so that the peer does not take what it has for complete.
  func reset() {
    switch self {
    case .socket(let descriptor): mini_reset(descriptor)
    case .standardStreams:
      mini_close(0)
      mini_close(1)
    case .line: byway_line_abort(mini_line())
    case .stream(let number): Streams.abort(number)
    }
  }
}

extension Pipe {
  /// Reads once, if there is room.
  mutating func fill(from source: Endpoint, _ active: inout UInt32, _ now: UInt32) -> Transfer {
    guard wantsMore else { return .wait }
    let result = source.read(room)
    switch result {
    case .bytes(let count):
      added(count)
      // Dropped bytes do not count, so that their sender cannot keep the connection.
      if state == .flowing { active = now }
    case .end: end()
    case .wait, .failure: break
    }
    return result
  }

  /// Writes what waits, and then the end. Returns false if the sink has failed.
  mutating func drain(to sink: Endpoint, _ active: inout UInt32, _ now: UInt32) -> Bool {
    while !isEmpty {
      switch sink.write(waiting) {
      case .bytes(let count):
        removed(count)
        active = now
      case .wait, .end: return true
      case .failure: return false
      }
    }
    if owesEnd {
      sink.finish()
      close()
    }
    return true
  }
}
