#if !FUZZING
  @testable import BywayLineLayer
#endif

/// Reads a script byte by byte; zeros after its end.
private struct Script {
  private var rest: UnsafeBufferPointer<UInt8>.SubSequence

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }
  mutating func short() -> UInt16 { UInt16(byte()) << 8 | UInt16(byte()) }

  mutating func bytes(_ limit: Int) -> [UInt8] {
    let count = min(Int(byte()), limit, rest.count)
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }
}

/// An attack on one end by a peer that knows the session and breaks every rule, driven by the script of a fuzzer.
struct Attack {
  private var script: Script
  private var layer: LineLayer
  private var now: UInt64 = 1
  private var unread = 0
  private var output: [UInt8] = []
  private var scratch: [UInt8] = []
  private var codec = ReedSolomon()
  private let setting: UInt8

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    script = Script(bytes)
    setting = script.byte()
    var configuration = LineLayerConfiguration.defaults
    configuration.bytesPerSecond = [nil, 10, 960, 92_160][Int(setting >> 1 & 3)]
    if setting & 8 != 0 {
      configuration.largestPayload = 64
      configuration.window = 4096
    }
    layer = LineLayer(setting & 1 == 0 ? .dialer : .listener(incarnation: 7), configuration: configuration, at: now)
  }

  mutating func run() {
    while !script.isEmpty {
      step()
      takeEvents()
      check()
    }
  }

  private mutating func step() {
    switch script.byte() & 15 {
    case 0: layer.receive(script.bytes(255), at: now)
    case 1:
      receive(
        .hello(
          version: script.byte() & 1, incarnation: UInt32(script.byte() & 3) + 6, largestPayload: script.short(),
          correction: setting & 16 != 0 ? 16 : 0))
    case 2:
      let id = SessionID(session: UInt32(script.byte() & 3), incarnation: UInt32(script.byte() & 3) + 6)
      receive(
        .open(
          version: 1, session: id, largestPayload: script.short(), window: script.short(),
          correction: setting & 16 != 0 ? 16 : 0))
    case 3:
      receive(.reset(session: UInt32(script.byte() & 3), reason: ResetReason(rawValue: script.byte()) ?? .unknown))
    case 4: receive(.poll(session: UInt32(script.byte() & 3), token: script.byte()))
    case 5, 6: acknowledge()
    case 7, 8:
      let number = (layer.session?.receiver.units.next ?? 0) &+ UInt16(script.byte()) &- 4
      data(number: script.byte() & 7 == 0 ? script.short() : number)
    case 9: layer.open(session: UInt32(script.byte() & 3), at: now)
    case 10: layer.send([UInt8](repeating: 1, count: Int(script.byte()) * 16))
    case 11: wait(UInt64(script.short()) * 1_000_000)
    case 12: transmit()
    case 13:
      layer.consumed(unread, at: now)
      unread = 0
    case 14: if script.byte() & 1 == 0 { layer.lineLost(at: now) } else { layer.lineRestored(at: now) }
    default: if script.byte() & 7 == 0 { layer.abort(at: now) } else { layer.finish() }
    }
  }

  private mutating func acknowledge() {
    var answer: Acknowledgement.Answer?
    if script.byte() & 1 == 0, let poll = layer.session?.questions.polls.last {
      answer = .init(token: poll.token, delay: script.byte())
    }
    let first = layer.session?.sender.frames.first ?? 0
    let next = script.byte() & 7 == 0 ? script.short() : first &+ UInt16(script.byte() & 3)
    let runs = script.bytes(4).map { max(UInt16($0), 1) }
    receive(
      .acknowledgement(
        Acknowledgement(answer: answer, arrivals: Arrivals(next: next, runs: runs), window: script.short())))
    if setting & 16 != 0 { receive(.noise(Noise(code: script.byte()))) }
  }

  private mutating func data(number: UInt16) {
    let flags = script.byte()
    let next = flags & 1 == 0 ? nil : layer.session?.sender.frames.first
    receive(.data(DataHeader(number: number, next: next, isLast: flags & 62 == 0), payload: script.bytes(100)[...]))
  }

  private mutating func receive(_ frame: Frame) {
    var wire: [UInt8] = []
    if let session = layer.session, setting & 16 != 0 {
      // With any strength of correction, and then with errors.
      FrameCodec.write(frame, seal: session.id, into: &scratch)
      CorrectableFrame.encode(
        scratch, Strength(index: Int(script.byte() & 15)), sync: CorrectableFrame.sync(of: session.id), codec: &codec,
        into: &wire)
      for _ in 0..<(script.byte() & 7) { wire[Int(script.byte()) % wire.count] ^= script.byte() }
      if script.byte() & 7 == 0 { wire.removeFirst(Int(script.byte()) % wire.count) }
    } else {
      FrameCodec.encode(frame, seal: layer.session?.id, scratch: &scratch, into: &wire)
    }
    layer.receive(wire, at: now)
  }

  private mutating func wait(_ time: UInt64) {
    let end = now + time
    // A deadline may ask to be called at once, but not for ever.
    for _ in 0..<50 {
      guard let next = layer.nextDeadline, next <= end else { break }
      now = max(now, next)
      layer.handleTimeout(at: now)
      transmit()
    }
    now = end
    layer.handleTimeout(at: now)
  }

  private mutating func transmit() {
    output.removeAll(keepingCapacity: true)
    for _ in 0..<100 where !layer.nextTransmit(at: now, into: &output) { break }
  }

  private mutating func takeEvents() {
    while let event = layer.nextEvent() {
      if case .received(let bytes) = event { unread += bytes.count }
      if case .ended = event { unread = 0 }
    }
  }

  private func check() {
    precondition(layer.control.count <= 8 && layer.ended.count <= 16)
    precondition(layer.reader.heldBytes <= layer.reader.mostHeldBytes)
    guard let session = layer.session else { return }
    precondition(session.questions.polls.count <= 8 && session.sender.frames.units <= Unit.largestWindow + 1)
    precondition(session.receiver.units.heldMemory <= layer.configuration.window / 16 * 17 + 17)
    precondition(session.receiver.units.unread <= layer.configuration.window)
    precondition(session.receiver.units.unread == unread)
  }
}
