import CBoard
import CByway

/// A sensor whose page comes over its serial line, with the same paths as `sensor-c`.
struct Sensor {
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
    var state: UInt32 = 0xFFFF_FFFF
    var checksum: UInt32 { ~state }
  }

  #if SECOND
    private static var version: UInt32 { 2 }
  #else
    private static var version: UInt32 { 1 }
  #endif
  private static var fileSize: UInt32 { 200 * 1024 }

  /// What each request is for, by its number.
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
  mutating func answerLater(_ exchange: Exchange) {
    for number in 0..<works.count {
      guard case .slow = works[number] else { continue }
      exchange.select(number)
      answerSlowly(exchange)
    }
  }

  mutating func handle(_ event: byway_event, _ exchange: Exchange, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
    switch event {
    case BYWAY_REQUEST: begin(exchange)
    case BYWAY_BODY: take(exchange, bytes, count)
    case BYWAY_END: end(exchange)
    case BYWAY_ROOM: goOn(exchange)
    default: works[exchange.number] = .none
    }
  }

  private mutating func begin(_ exchange: Exchange) {
    works[exchange.number] = .none
    if exchange.targets("/upload") { return beginUpload(exchange, isFirmware: false) }
    if exchange.targets("/firmware") { return beginUpload(exchange, isFirmware: true) }
    if exchange.targets("/reset"), exchange.method == BYWAY_POST {
      resetAt = board_milliseconds() &+ 200
      return exchange.answer(202)
    }
    guard exchange.method == BYWAY_GET || exchange.method == BYWAY_HEAD_ONLY else { return exchange.answer(405) }
    if exchange.targets("/") {
      exchange.answer(200, type: "text/html", with: page(), count: page_size())
    } else if exchange.targets("/reading") {
      var text = Text()
      appendReading(&text)
      text.append("\n")
      exchange.answer(200, type: "application/json", text: text)
    } else if exchange.targets("/state") {
      answerWithState(exchange)
    } else if exchange.targets("/file") {
      exchange.answer(200, type: "application/octet-stream", with: file(), count: Self.fileSize)
    } else if let count = exchange.number(behind: "/file?bytes=", atMost: Self.fileSize) {
      exchange.answer(200, type: "application/octet-stream", with: file(), count: count)
    } else if exchange.targets("/slow") {
      works[exchange.number] = .slow(since: board_milliseconds())
    } else if exchange.targets("/events") {
      works[exchange.number] = .events(since: board_milliseconds(), told: samples)
      exchange.beginStream(type: "text/event-stream")
      var text = Text()
      text.append("retry: 300\n\n")
      exchange.send(text)
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

  private func answerWithState(_ exchange: Exchange) {
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
    exchange.answer(200, type: "application/json", text: text)
  }

  private mutating func goOn(_ exchange: Exchange) {
    switch works[exchange.number] {
    case .events(let since, let told): sendEvents(exchange, since, told)
    case .slow: answerSlowly(exchange)
    case .refused: exchange.answer(413)
    case .none, .upload: break
    }
  }

  /// Answers after 1.5 s, in place of a measurement that takes its time. Without room now there is another call.
  private mutating func answerSlowly(_ exchange: Exchange) {
    guard case .slow(let since) = works[exchange.number], board_milliseconds() &- since >= 1500 else { return }
    var text = Text()
    text.append("slow\n")
    if exchange.answer(200, type: "text/plain", text: text) { works[exchange.number] = .none }
  }

  /// Sends an event for each sample. If the session serves one request at a time the stream ends after 3 s, so that others have their turn.
  private mutating func sendEvents(_ exchange: Exchange, _ since: UInt32, _ told: UInt32) {
    guard exchange.atOnce > 1 || board_milliseconds() &- since < 3000 else { return exchange.endStream() }
    guard told != samples, exchange.room >= 64 else { return }
    works[exchange.number] = .events(since: since, told: samples)
    var text = Text()
    text.append("data: ")
    appendReading(&text)
    text.append("\n\n")
    exchange.send(text)
  }

  // MARK: - Uploads

  private mutating func beginUpload(_ exchange: Exchange, isFirmware: Bool) {
    guard exchange.method == BYWAY_PUT else { return exchange.answer(405) }
    guard let expected = exchange.checksum(in: "x-crc32c") else { return exchange.answer(400) }
    guard !isFirmware || (slot_running() == 0 && !isSlotTaken) else { return exchange.answer(409) }
    if isFirmware { slot_erase() }
    works[exchange.number] = .upload(Upload(isFirmware: isFirmware, expected: expected))
  }

  /// Whether another request writes the slot.
  private var isSlotTaken: Bool {
    for number in 0..<works.count {
      if case .upload(let upload) = works[number], upload.isFirmware { return true }
    }
    return false
  }

  private mutating func take(_ exchange: Exchange, _ bytes: UnsafePointer<UInt8>?, _ count: Int) {
    guard case .upload(var upload) = works[exchange.number] else { return }
    if upload.isFirmware, slot_write(upload.count, bytes, count) == 0 {
      works[exchange.number] = .refused
      return exchange.answer(413)
    }
    upload.state = byway_crc(upload.state, bytes, count)
    upload.count &+= UInt32(truncatingIfNeeded: count)
    works[exchange.number] = .upload(upload)
  }

  private mutating func end(_ exchange: Exchange) {
    if case .refused = works[exchange.number] { return exchange.answer(413) }
    guard case .upload(let upload) = works[exchange.number] else { return }
    works[exchange.number] = .none
    var isRight = upload.checksum == upload.expected
    if isRight, upload.isFirmware { isRight = slot_commit(upload.count, upload.expected) != 0 }
    var text = Text()
    text.append("{\"bytes\":")
    text.append(upload.count)
    text.append(",\"crc32c\":\"")
    text.appendHexadecimal(upload.checksum)
    text.append("\"}\n")
    exchange.answer(isRight ? 200 : 422, type: "application/json", text: text)
  }
}
