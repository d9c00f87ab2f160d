import Byway
import BywayLineLayer
import BywayTerminal
import HTTPTypes
import NIOCore
import Testing

@testable import BywayCommand
@testable import BywayDemo

@Suite("Messages to users") struct MessageTests {
  private func response(_ code: Int, _ proxyStatus: String) throws -> HTTPResponse {
    let name = try #require(HTTPField.Name("Proxy-Status"))
    return HTTPResponse(status: .init(code: code), headerFields: [name: proxyStatus])
  }

  @Test("a gateway's failure is distinguished from an origin's response by its Proxy-Status")
  func hopFailure() throws {
    let down = try response(
      503, #"byway-gateway-1a2b; error=destination_unavailable; details="Nothing listens at \"x\".""#)
    #expect(HopFailure.message(in: down) == #"Nothing listens at "x"."#)
    #expect(HopFailure.message(in: HTTPResponse(status: .serviceUnavailable)) == nil)
    #expect(HopFailure.message(in: try response(503, "cache.example; error=destination_unavailable")) == nil)
    #expect(HopFailure.message(in: try response(200, "byway-gateway-1; error=x; details=\"y\"")) == nil)
    #expect(HopFailure.message(in: try response(502, "byway-gateway-1; received-status=502")) == nil)
  }

  @Test(
    "missing or malformed details in Proxy-Status are replaced by the status",
    arguments: ["", "; details=\"cut", "; details=\"\""])
  func noDetails(_ rest: String) throws {
    let message = HopFailure.message(in: try response(502, "byway-proxy-1; error=x\(rest)"))
    #expect(message == "The far end answered 502 Bad Gateway.")
  }

  @Test("ping counts replies and summarizes their times")
  func pings() {
    var statistics = PingStatistics()
    for milliseconds in [2, 4, 9] { statistics.add(.milliseconds(Int64(milliseconds))) }
    statistics.addLoss()
    #expect(
      statistics.summary(of: "unix:x") == [
        "--- unix:x ---", "4 sent, 3 received, 25% lost", "round trip min/avg/max = 2.000/5.000/9.000 ms",
      ])
    var line = LineStatistics()
    line.roundTrip = 1_940_000
    line.rate = 11_300
    line.nominalRate = 11_520
    line.sentFrames = 40
    line.sentBytes = 600
    line.receivedFrames = 38
    line.receivedBytes = 400
    statistics.lineFacts = line.facts.map { "line: \($0)" }
    #expect(
      statistics.summary(of: "x").suffix(4) == [
        "line: round trip 1.9 ms, without the time for the bytes themselves",
        "line: carries 11300 bytes/s, nominal 11520",
        "line: 40 frames sent, 0 of them again; 38 received, 0 damaged", "line: no errors in 1000 bytes",
      ])
    line.repeatedFrames = 2
    line.damagedFrames = 1
    statistics.lineFacts = line.facts.map { "line: \($0)" }
    #expect(statistics.summary(of: "x").last == "line: 3000 errors in a million bytes, 3 in 1000")
    #expect(PingStatistics().summary(of: "x") == ["--- x ---", "0 sent, 0 received, 0% lost"])
  }

  @Test("the demo's log columns are aligned, and a request cannot send control sequences to the terminal")
  func records() {
    let plain = TextStyle(isColourful: false)
    var record = PrintedExchange(
      method: "GET", path: "/status", status: 200, bytes: 87, time: .microseconds(1234), isComplete: true)
    let line = record.line(plain)
    #expect(line == "GET     /status                         200           87 B      1.2 ms")
    #expect(PrintedExchange.heading.count == line.count)
    record.method = "G\u{9B}31m"
    #expect(!record.line(plain).unicodeScalars.contains("\u{9B}"))
    record.method = "GET"
    record.path = "/\u{1B}[31m\u{202E}" + String(repeating: "x", count: 100)
    record.isComplete = false
    #expect(!record.line(plain).contains("\u{1B}") && !record.line(plain).unicodeScalars.contains("\u{202E}"))
    #expect(record.line(plain).count == line.count + "  cut off".count && record.line(plain).count < 80)
  }

  @Test("output is colored on a terminal only")
  func styles() {
    #expect(TextStyle(isColourful: false).status(500) == "500")
    #expect(TextStyle(isColourful: true).status(500) == "\u{1B}[31m500\u{1B}[0m")
  }
}
