import Testing

@testable import BywayLineLayer

@Suite("Lists of missing units")
struct ReportTests {
  private static let id = SessionID(session: 5, incarnation: 7)

  private static func runs(of frames: [Frame]) -> Int? {
    for case .acknowledgement(let report) in frames where report.answer != nil { return report.arrivals.runs.count }
    return nil
  }

  @Test("if ANSWERs are not heard, their lists get shorter, and become complete after the next DATA")
  func shrinks() {
    var layer = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    layer.receive(.open(version: 1, session: Self.id, largestPayload: 2048, window: 8192), at: 1)
    // Every other unit is missing.
    for number in stride(from: 1, to: 400, by: 2) as StrideTo<UInt16> {
      let header = DataHeader(number: number, next: nil, isLast: false)
      layer.receive(.data(header, payload: [UInt8](repeating: 3, count: 16)[...]), seal: Self.id, at: 1)
    }
    _ = layer.sentFrames(at: 100_000_000)
    var lengths: [Int] = []
    for token in 1...6 as ClosedRange<UInt8> {
      layer.receive(.poll(session: 5, token: token), at: 100_000_000)
      lengths.append(Self.runs(of: layer.sentFrames(at: 100_000_000)) ?? -1)
    }
    #expect(lengths[0] >= 31)
    #expect(lengths[1] < lengths[0] && lengths[2] < lengths[1], "\(lengths)")
    #expect(lengths.suffix(2) == [1, 1], "\(lengths)")
    let header = DataHeader(number: 401, next: nil, isLast: false)
    layer.receive(.data(header, payload: [1]), seal: Self.id, at: 100_000_000)
    _ = layer.sentFrames(at: 200_000_000)
    layer.receive(.poll(session: 5, token: 9), at: 200_000_000)
    #expect(Self.runs(of: layer.sentFrames(at: 200_000_000)) ?? 0 >= 31)
  }
}
