import BywayHTTPWire
import Logging
import NIOCore
import TCPTransport
import Testing

@testable import Byway
@testable import BywayDaemon

/// The metrics of a daemon with several sections.
@Suite struct SectionMetricsTests {
  private func observation(servesMetrics: Bool = true) throws -> DaemonObservation {
    var settings = ObservationSettings()
    if servesMetrics { settings.metrics = try TransportRegistry([TCPTransport()]).link("tcp://127.0.0.1:0") }
    return try DaemonObservation(settings, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func count(_ observers: [any ExchangeObserver]) {
    let head: FieldSection = [":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/"]
    var record = ExchangeRecord(listener: "unix:/l", version: .http2, head: head, trace: nil, begun: .now())
    for observer in observers { observer.exchangeBegan(record) }
    (record.ended, record.status) = (.now(), 200)
    for observer in observers { observer.exchangeEnded(record) }
  }

  private func counts(_ observation: DaemonObservation) -> [Substring] {
    String(decoding: observation.metricsText(of: [], connections: [:], plugins: []), as: UTF8.self).split(
      separator: "\n"
    )
    .filter { $0.hasPrefix("http_server_request_duration_seconds_count{") }
    .map { $0.split(separator: #"device="""#).last ?? "" }
  }

  @Test("requests count for their section, and for none in a daemon without sections")
  func sections() throws {
    let observation = try observation()
    for name in ["hall", "yard", "hall"] { count(observation.observers(ofSection: name)) }
    #expect(counts(observation) == [#",section="hall"} 2"#, #",section="yard"} 1"#])
    let plain = try self.observation()
    count(plain.observers(ofSection: ""))
    #expect(counts(plain) == ["} 1"])
    #expect(try self.observation(servesMetrics: false).observers(ofSection: "hall").isEmpty)
  }

  @Test("reloads with ever new names of sections make a limited number of series")
  func bounded() throws {
    let observation = try observation()
    for index in 0..<300 { count(observation.observers(ofSection: "s\(index)")) }
    let counts = counts(observation)
    #expect(counts.count == 101 && counts.contains(#",section="_OTHER"} 200"#), "\(counts)")
  }
}
