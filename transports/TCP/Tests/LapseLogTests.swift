import Testing

@testable import TCPTransport

@Suite("Warnings about expired certificates") struct LapseLogTests {
  @Test("an expired certificate is a warning once for each link, and again after it was valid")
  func once() {
    let log = LapseLog()
    #expect(log.level(of: .expired(at: 1), in: "a") == .warning)
    #expect(log.level(of: .expired(at: 1), in: "a") == .debug)
    #expect(log.level(of: .expired(at: 1), in: "b") == .warning)
    #expect(log.level(of: .notYetValid(until: 1), in: "a") == .warning)
    _ = log.level(of: nil, in: "a")
    #expect(log.level(of: .notYetValid(until: 1), in: "a") == .warning)
    for number in 0..<1_000 { _ = log.level(of: .expired(at: 2), in: "\(number)") }
    #expect(log.level(of: .expired(at: 2), in: "999") == .debug)
  }
}
