import BywayHTTPWire
import Testing

@testable import Byway

/// `traceparent` (W3C Trace Context).
@Suite struct TraceContextTests {
  private let source = TraceSource()
  private static let known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test("a valid trace context is forwarded unchanged with its state")
  func kept() {
    var fields: FieldSection = ["traceparent": Self.known, "tracestate": "a=b"]
    let trace = TraceContext.settle(&fields, source)
    #expect("\(trace)" == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(fields == ["traceparent": Self.known, "tracestate": "a=b"])
  }

  @Test("a request without a trace context gets one, which the next hop reads alike")
  func made() throws {
    var fields: FieldSection = [":method": "GET"]
    let trace = TraceContext.settle(&fields, source)
    let text = try #require(fields.value(of: .traceparent))
    #expect(text.wholeMatch(of: /00-([0-9a-f]{32})-[0-9a-f]{16}-01/)?.1.description == "\(trace)")
    let before = fields
    #expect(TraceContext.settle(&fields, source) == trace && fields == before)
    var others: FieldSection = [":method": "GET"]
    #expect(TraceContext.settle(&others, source) != trace)
  }

  @Test(
    "an invalid trace context is replaced, and its state dropped",
    arguments: [
      "", "x", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", known + "-00", known.uppercased(),
      "ff" + known.dropFirst(2), "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "01" + known.dropFirst(2) + "x",
    ])
  func replaced(value: String) throws {
    var fields: FieldSection = ["traceparent": value, "tracestate": "a=b"]
    let trace = TraceContext.settle(&fields, source)
    #expect(!fields.contains(.tracestate) && fields.value(of: .traceparent)?.contains("\(trace)") == true)
    #expect(fields.value(of: .traceparent)?.count == 55)
  }

  @Test("a state without a trace context is dropped")
  func orphaned() {
    var fields: FieldSection = ["tracestate": "a=b"]
    let trace = TraceContext.settle(&fields, source)
    #expect(fields.lines.count == 1 && fields.value(of: .traceparent)?.contains("\(trace)") == true)
  }

  @Test("a trace context of a later version may have additional data")
  func later() {
    var fields: FieldSection = ["traceparent": "01" + Self.known.dropFirst(2) + "-what-comes"]
    #expect("\(TraceContext.settle(&fields, source))" == "4bf92f3577b34da6a3ce929d0e0e4736")
  }
}
