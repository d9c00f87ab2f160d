import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway
@testable import BywayInspector

/// The part of the process's memory budget that the inspector uses.
@Suite("Memory of the inspector", .timeLimit(.minutes(1))) struct InspectorMemoryTests {
  private static func record(_ path: String) -> ExchangeRecord {
    ExchangeRecord(
      listener: "unix:/l", version: .http2, head: [":method": "GET", ":path": "\(path)"], trace: nil, begun: .now())
  }

  /// Adds an ended exchange, or one that runs.
  private static func add(_ path: String, body: Int, isEnded: Bool = true, to inspector: Inspector) {
    var record = record(path)
    let observer = inspector.observer(of: record)
    observer?.responseBegan([":status": "200"], record)
    observer?.responseBody(ByteBuffer(repeating: 1, count: body))
    guard isEnded else { return }
    record.ended = .now()
    observer?.ended(record)
  }

  private static func paths(_ inspector: Inspector) -> [String] {
    inspector.read { exchanges in exchanges.ids.compactMap { exchanges[$0]?.record.head.value(of: .path) } }
  }

  @Test("records count in the memory budget, and free it when they are cleared or the inspector ends")
  func counted() {
    let budget = MemoryBudget(limit: 8 << 20)
    var inspector: Inspector? = Inspector(within: budget)
    for _ in 0..<4 { inspector.map { Self.add("/", body: 100_000, to: $0) } }
    #expect((400_000...420_000).contains(budget.held))
    inspector?.clear()
    #expect(budget.held == 0)
    for isEnded in [true, false] { inspector.map { Self.add("/", body: 100_000, isEnded: isEnded, to: $0) } }
    #expect(budget.held > 200_000)
    inspector = nil
    #expect(budget.held == 0)
  }

  @Test("keeps at most a quarter of the memory budget, also after the budget was reduced")
  func quarter() {
    let budget = MemoryBudget(limit: 4 << 20)
    let inspector = Inspector(within: budget)
    for _ in 0..<2000 { Self.add("/" + String(repeating: "a", count: 1000), body: 10_000, to: inspector) }
    let kept = inspector.read(\.byteCount)
    #expect(((1 << 20) - 20_000...(1 << 20) + 2000).contains(kept))
    #expect(abs(budget.held - kept) < 32 * 1024)
    budget.limit = 1 << 20
    Self.add("/", body: 10_000, to: inspector)
    #expect(inspector.read(\.byteCount) < (1 << 18) + 2000 && !budget.isTight)
    #expect(inspector.read(\.limits.body) == 1 << 17)
  }

  @Test("drops its oldest records when connections need the memory, before any exchange is ended, and records on")
  func pressure() async throws {
    let budget = MemoryBudget(limit: 1_000_000)
    let inspector = Inspector(within: budget)
    let watch = Watch(TestLoops.next())
    let account = MemoryAccount(budget, on: watch.eventLoop)
    for number in 0..<10 { Self.add("/\(number)", body: 10_000, to: inspector) }
    try await watch.run {
      account.open { true }
      account.change(by: 690_000)
    }
    #expect(!budget.isTight && budget.refused == 0)
    let left = Self.paths(inspector)
    #expect((1...8).contains(left.count) && left.last == "/9")
    try await watch.run { account.change(by: 200_000) }
    #expect(Self.paths(inspector).isEmpty && budget.refused == 0)
    // Memory is still short: records are dropped as they come.
    for number in 0..<10 { Self.add("/late\(number)", body: 10_000, to: inspector) }
    #expect(inspector.read(\.byteCount) < 64 * 1024 && budget.refused == 0)
    try await watch.run { account.close() }
    Self.add("/next", body: 10_000, to: inspector)
    #expect(Self.paths(inspector).last == "/next")
    inspector.clear()
    #expect(budget.held == 0)
  }

  @Test("a running exchange loses its body, not its record, when memory is short, and a conversation loses it last")
  func running() {
    var exchanges = InspectedExchanges(limits: .init(heads: 1 << 20, bodies: 1 << 20))
    let ids = (0..<3).map { _ in exchanges.begin(Self.record("/"), at: 0) }
    var record = Self.record("/")
    record.ended = .now()
    exchanges.end(ids[0], record)
    exchanges.update(ids[1]) { $0.given = [":status": "200", "content-type": "text/event-stream"] }
    for id in ids { exchanges.append(ByteBuffer(repeating: 0x61, count: 5000), to: .response, of: id, at: 0) }
    func kept() -> [Int?] { ids.map { exchanges[$0]?.responseBody.kept.readableBytes } }
    exchanges.release(1)
    #expect(kept() == [nil, 5000, 5000])
    exchanges.release(1)
    #expect(kept() == [nil, 5000, 0])
    let bytes = exchanges.byteCount
    exchanges.release(bytes)
    #expect(kept() == [nil, 0, 0] && exchanges.count == 2)
    // The rest of its message has no beginning.
    exchanges.append(ByteBuffer(string: "data: x\n\n"), to: .response, of: ids[1], at: 0)
    #expect(kept() == [nil, 0, 0] && exchanges[ids[1]]?.responseBody.count == 5009)
    for id in ids.dropFirst() { exchanges.end(id, record) }
    exchanges.clear()
    #expect(exchanges.byteCount == 0)
  }

  @Test("an answer that is read slowly leaves out records that were dropped meanwhile, and keeps none of them")
  func answer() {
    var kept = Set(0..<500)
    let pieces = FeedAnswer.array("[", Array(0..<500), "]") { kept.contains($0) ? "\($0)" : nil }
    var text = pieces().map { String(buffer: $0) } ?? ""
    kept = [7, 450]
    var count = 1
    while let piece = pieces() {
      text += String(buffer: piece)
      count += 1
      #expect(piece.readableBytes > 0)
    }
    #expect(text == "[" + (0..<200).map { "\($0)," }.joined() + "450]")
    #expect(count == 2)
  }
}
