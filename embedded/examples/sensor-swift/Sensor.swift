import CBoard

/// A sensor whose page comes over its serial line, with the same paths as `sensor-c`.
struct Sensor: Service, ~Copyable {
  private enum Work {
    case none
    case events(since: UInt32, told: UInt32)
    case slow(since: UInt32)
    case refused
    case upload(Upload)
  }

  private struct Upload {
    let isFirmware: Bool
    let expected: UInt32
    var count: UInt32 = 0
    var checksum = Checksum()
    /// The slot has no room for it.
    var isRefused = false

    mutating func take(_ bytes: Span<UInt8>) -> Int {
      if isFirmware { isRefused = bytes.withUnsafeBufferPointer { slot_write(count, $0.baseAddress, $0.count) } == 0 }
      checksum.add(bytes)
      count &+= UInt32(truncatingIfNeeded: bytes.count)
      return bytes.count
    }
  }

  #if SECOND
    private static var version: UInt32 { 2 }
  #else
    private static var version: UInt32 { 1 }
  #endif
  private static var fileSize: UInt32 { 200 * 1024 }

  /// The work for each request, by its number.
  private var works = InlineArray<4, Work>(repeating: .none)
  private var samples: UInt32 = 0
  private var sampled: UInt32 = 0
  private var noise: UInt32 = 1
  private var temperature: Int32 = 2150  // hundredths of a degree
  private var resetAt: UInt32?

  // MARK: - The sensor

  /// In place of an ADC: a temperature that swings, and some noise.
  mutating func sample(_ now: UInt32) {
    guard now &- sampled >= 100 else { return }
    sampled = now
    samples &+= 1
    noise = noise &* 1_664_525 &+ 1_013_904_223
    let swing: Int32 = samples / 40 % 2 == 0 ? -4 : 4
    temperature += Int32(noise >> 28) - 8 + swing + (2150 - temperature) / 50
  }

  func resetIfDue(_ now: UInt32) {
    if let resetAt, Int32(bitPattern: now &- resetAt) >= 0 { board_reset() }
  }

  // MARK: - Requests

  /// Gives the answers that were not given at once.
  mutating func answerLater(_ exchange: inout Server) {
    for number in 0..<works.count {
      guard case .slow = works[number] else { continue }
      exchange.select(number)
      answerSlowly(&exchange)
    }
  }

  static func wants(_ name: Span<UInt8>) -> Bool { name.equals("x-crc32c") }

  mutating func handle(_ event: Event, of exchange: inout Server) -> Int {
    switch event {
    case .request: begin(&exchange)
    case .body: return take(&exchange)
    case .end: end(&exchange)
    case .room: goOn(&exchange)
    case .gone: works[exchange.current] = .none
    }
    return 0
  }

  private mutating func begin(_ exchange: inout Server) {
    works[exchange.current] = .none
    if exchange.targets("/upload") { return beginUpload(&exchange, isFirmware: false) }
    if exchange.targets("/firmware") { return beginUpload(&exchange, isFirmware: true) }
    if exchange.targets("/reset"), exchange.method() == .post {
      resetAt = board_milliseconds() &+ 200
      return exchange.answer(202)
    }
    guard exchange.method() == .get || exchange.method() == .head else { return exchange.answer(405) }
    if exchange.targets("/") {
      exchange.answer(200, type: "text/html", with: page(), count: page_size())
    } else if exchange.targets("/reading") {
      var text = Text()
      appendReading(&text)
      text.append("\n")
      exchange.answer(200, type: "application/json", text: &text)
    } else if exchange.targets("/state") {
      answerWithState(&exchange)
    } else if exchange.targets("/file") {
      exchange.answer(200, type: "application/octet-stream", with: file(), count: Self.fileSize)
    } else if let count = exchange.number(behind: "/file?bytes=", atMost: Self.fileSize) {
      exchange.answer(200, type: "application/octet-stream", with: file(), count: count)
    } else if exchange.targets("/slow") {
      works[exchange.current] = .slow(since: board_milliseconds())
    } else if exchange.targets("/events") {
      works[exchange.current] = .events(since: board_milliseconds(), told: samples)
      exchange.beginStream(type: "text/event-stream")
      var text = Text()
      text.append("retry: 300\n\n")
      exchange.send(&text)
    } else {
      exchange.answer(404)
    }
  }

  private func appendReading(_ text: inout Text) {
    text.append("{\"sample\":")
    text.append(samples)
    text.append(",\"temperature\":")
    let value = UInt32(bitPattern: temperature)
    text.append(value / 100)
    text.append(".")
    text.append(value / 10 % 10)
    text.append(value % 10)
    text.append("}")
  }

  private func answerWithState(_ exchange: inout Server) {
    var text = Text()
    text.append("{\"version\":")
    text.append(Self.version)
    text.append(slot_running() != 0 ? ",\"slot\":\"B\"" : ",\"slot\":\"A\"")
    text.append(",\"starts\":")
    text.append(board_starts())
    text.append(",\"stack\":")
    text.append(board_stack())
    text.append(",\"overruns\":")
    text.append(board_overruns())
    text.append("}\n")
    exchange.answer(200, type: "application/json", text: &text)
  }

  private mutating func goOn(_ exchange: inout Server) {
    switch works[exchange.current] {
    case .events(let since, let told): sendEvents(&exchange, since, told)
    case .slow: answerSlowly(&exchange)
    case .refused: exchange.answer(413)
    case .none, .upload: break
    }
  }

  /// Answers after 1.5 s, in place of a measurement that takes its time. Without room now there is another call.
  private mutating func answerSlowly(_ exchange: inout Server) {
    guard case .slow(let since) = works[exchange.current], board_milliseconds() &- since >= 1500 else { return }
    var text = Text()
    text.append("slow\n")
    if exchange.answer(200, type: "text/plain", text: &text) { works[exchange.current] = .none }
  }

  /// Sends an event for each sample. If the session serves one request at a time the stream ends after 3 s, so that others have their turn.
  private mutating func sendEvents(_ exchange: inout Server, _ since: UInt32, _ told: UInt32) {
    guard exchange.atOnce > 1 || board_milliseconds() &- since < 3000 else {
      _ = exchange.end()
      return
    }
    guard told != samples, exchange.room() >= 64 else { return }
    works[exchange.current] = .events(since: since, told: samples)
    var text = Text()
    text.append("data: ")
    appendReading(&text)
    text.append("\n\n")
    exchange.send(&text)
  }

  // MARK: - Uploads

  private mutating func beginUpload(_ exchange: inout Server, isFirmware: Bool) {
    guard exchange.method() == .put else { return exchange.answer(405) }
    guard let expected = exchange.checksum(in: "x-crc32c") else { return exchange.answer(400) }
    guard !isFirmware || (slot_running() == 0 && !isSlotTaken) else { return exchange.answer(409) }
    if isFirmware { slot_erase() }
    works[exchange.current] = .upload(Upload(isFirmware: isFirmware, expected: expected))
  }

  /// Whether another request writes the slot.
  private var isSlotTaken: Bool {
    for number in 0..<works.count {
      if case .upload(let upload) = works[number], upload.isFirmware { return true }
    }
    return false
  }

  /// Takes bytes of a body. Returns how many.
  private mutating func take(_ exchange: inout Server) -> Int {
    guard case .upload(var upload) = works[exchange.current] else { return exchange.withBody { $0.count } }
    let count = exchange.withBody { upload.take($0) }
    if upload.isRefused {
      works[exchange.current] = .refused
      exchange.answer(413)
    } else {
      works[exchange.current] = .upload(upload)
    }
    return count
  }

  private mutating func end(_ exchange: inout Server) {
    if case .refused = works[exchange.current] { return exchange.answer(413) }
    guard case .upload(let upload) = works[exchange.current] else { return }
    works[exchange.current] = .none
    var isRight = upload.checksum.value == upload.expected
    if isRight, upload.isFirmware { isRight = slot_commit(upload.count, upload.expected) != 0 }
    var text = Text()
    text.append("{\"bytes\":")
    text.append(upload.count)
    text.append(",\"crc32c\":\"")
    text.appendHexadecimal(upload.checksum.value)
    text.append("\"}\n")
    exchange.answer(isRight ? 200 : 422, type: "application/json", text: &text)
  }
}
