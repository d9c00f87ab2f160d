import Byway
import BywayGateway
import BywayMetrics
import BywayPrometheusText
import HTTPTypes
import LoopbackTransport
import NIOCore
import TestTools
import TestWire
import Testing

/// HTTP metrics of a gateway's exchanges.
@Suite(.timeLimit(.minutes(1))) struct HTTPMetricsTests {
  private let registry = PrometheusRegistry.of(MetricName.all)

  /// Returns the lines with one of these prefixes, without values that vary.
  private func lines(_ beginnings: String...) -> [String] {
    String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { line in beginnings.contains { line.hasPrefix($0) } }
  }

  /// Runs a body with a gateway whose origin is a function.
  private func withGateway(
    _ respond: @escaping @Sendable (Request) async throws -> Response, _ body: (BywayClient) async throws -> Void
  ) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:metrics-\(UInt64.random(in: 0 ... .max))")
    var configuration = GatewayConfiguration(links: [link], origin: .handler(respond))
    let remains = Remains()
    configuration.observers = [HTTPMetrics(factory: registry), remains.ledger]
    let gateway = try await Gateway.start(configuration, group: remains.loops.any())
    let client = BywayClient(link)
    try await body(client)
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    await remains.expectNone()
  }

  @Test("exchanges are counted by method and outcome, with their bytes and durations")
  func exchanges() async throws {
    let respond: @Sendable (Request) async throws -> Response = { request in
      // Bytes after the response do not belong to the exchange any more.
      _ = try await request.body.collect(upTo: 100)
      return Response(status: .ok, body: Body("<\(request.head.path ?? "")>"))
    }
    try await withGateway(respond) { client in
      for _ in 0..<2 {
        _ = try await client.execute(Request(.post, url: "http://x/a", body: Body("12345"))).body.collect(upTo: 100)
      }
    }
    let labels =
      #"http_request_method="POST",url_scheme="http",network_protocol_version="2",http_response_status_code="200",error_type="",device="""#
    #expect(
      lines("http_server_request_duration_seconds_count") == ["http_server_request_duration_seconds_count{\(labels)} 2"]
    )
    #expect(
      lines("http_server_request_body_size_bytes_sum") == ["http_server_request_body_size_bytes_sum{\(labels)} 10"])
    #expect(
      lines("http_server_response_body_size_bytes_sum") == ["http_server_response_body_size_bytes_sum{\(labels)} 8"])
    #expect(
      lines("http_server_active") == [#"http_server_active_requests{http_request_method="POST",url_scheme="http"} 0"#])
    #expect(
      lines("byway_http_re") == ["byway_http_request_body_bytes_total 10", "byway_http_response_body_bytes_total 8"])
  }

  @Test("an exchange that fails before or within its response, or whose client leaves, is no longer active")
  func failed() async throws {
    let (endless, more) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    more.yield(ByteBuffer(string: "begun"))
    let respond: @Sendable (Request) async throws -> Response = { request in
      switch request.head.path {
      case "/throws": throw BywayError(.originLost, "It is gone.")
      case "/breaks":
        let broken = AsyncThrowingStream<ByteBuffer, any Error> { stream in
          stream.yield(ByteBuffer(string: "begun"))
          stream.finish(throwing: BywayError(.originLost, "It is gone."))
        }
        return Response(status: .ok, body: Body(broken, length: nil))
      default: return Response(status: .ok, body: Body(endless, length: nil))
      }
    }
    try await withGateway(respond) { client in
      for path in ["/throws", "/breaks"] {
        _ = try? await client.execute(Request(url: "http://x\(path)")).body.collect(upTo: 1000)
      }
      for try await _ in try await client.execute(Request(url: "http://x/left")).body { break }
      #expect(try await eventually { lines("http_server_request_duration_seconds_count").count == 3 })
      #expect(
        lines("http_server_active") == [#"http_server_active_requests{http_request_method="GET",url_scheme="http"} 0"#])
    }
    more.finish()
  }

  /// Starts a gateway and a client with metrics.
  private func observed(
    _ respond: @escaping @Sendable (Request) async throws -> Response
  ) async throws -> (Gateway, BywayClient, Link) {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:metrics-\(UInt64.random(in: 0 ... .max))")
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: .handler(respond)))
    var configuration = BywayClient.Configuration.defaults
    configuration.observers = [HTTPMetrics(factory: registry)]
    return (gateway, BywayClient(link, configuration: configuration), link)
  }

  @Test("an exchange is no longer active at an upstream when its response has broken off")
  func brokenOff() async throws {
    let (gateway, client, _) = try await observed { _ in
      let broken = AsyncThrowingStream<ByteBuffer, any Error> { stream in
        stream.yield(ByteBuffer(string: "begun"))
        stream.finish(throwing: BywayError(.originLost, "It is gone."))
      }
      return Response(status: .ok, body: Body(broken, length: nil))
    }
    await #expect(throws: (any Error).self) {
      _ = try await client.execute(Request(url: "http://x/")).body.collect(upTo: 1000)
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    #expect(lines("http_client_active").map { $0.hasSuffix(" 0") } == [true])
  }

  @Test("a request that cannot be sent is no longer active at an upstream when it has failed")
  func unsent() async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:metrics-\(UInt64.random(in: 0 ... .max))")
    var configuration = BywayClient.Configuration.defaults
    configuration.observers = [HTTPMetrics(factory: registry)]
    configuration.patience = .zero
    let client = BywayClient(link, configuration: configuration)
    await #expect(throws: BywayError.self) { try await client.execute(Request(url: "http://x/")) }
    await client.shutDown()
    #expect(lines("http_client_active").allSatisfy { $0.hasSuffix(" 0") })
  }

  @Test("an observed client counts its requests as client requests only")
  func client() async throws {
    let (gateway, client, link) = try await observed { request in
      if request.head.path == "/fails" { throw BywayError(.originLost, "It is gone.") }
      return Response(status: .ok, body: Body("answer"))
    }
    for path in ["/", "/", "/fails"] {
      _ = try await client.execute(Request(.put, url: "http://x\(path)", body: Body("12"))).body.collect(upTo: 1000)
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    let address = #"http_request_method="PUT",server_address="\#(link.address.place)""#
    #expect(
      lines("http_client_request_duration_seconds_count") == [
        #"http_client_request_duration_seconds_count{\#(address),http_response_status_code="200",error_type="",device=""} 2"#,
        #"http_client_request_duration_seconds_count{\#(address),http_response_status_code="502",error_type="502",device=""} 1"#,
      ])
    #expect(lines("http_client_active") == ["http_client_active_requests{\(address)} 0"])
    #expect(lines("byway_http_request_body") == ["byway_http_request_body_bytes_total 6"])
    #expect(lines("http_server_").isEmpty)
  }

  @Test("arbitrary methods and status values of peers are counted as other, and take no memory")
  func bounded() async throws {
    try await withGateway({ _ in Response(status: .init(code: 799)) }) { client in
      for index in 0..<20 {
        let method = try #require(HTTPRequest.Method("BREW\(index)"))
        _ = try await client.execute(Request(method, url: "http://x/"))
      }
    }
    let counts = lines("http_server_request_duration_seconds_count")
    #expect(counts.count == 1)
    #expect(counts.first?.contains(#"http_request_method="_OTHER""#) == true, "\(counts)")
    #expect(
      counts.first?.contains(#"http_response_status_code="_OTHER""#) == true && counts.first?.hasSuffix(" 20") == true)
  }

  @Test("a stream is active and its bytes are counted while it runs")
  func running() async throws {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
    try await withGateway({ _ in Response(status: .ok, body: Body(stream, length: nil)) }) { client in
      continuation.yield(ByteBuffer(string: "event"))
      let response = try await client.execute(Request(url: "http://x/"))
      var chunks = response.body.makeAsyncIterator()
      #expect(try await chunks.next().map(String.init(buffer:)) == "event")
      #expect(lines("http_server_active").first?.hasSuffix(" 1") == true)
      #expect(lines("byway_http_response_body").first?.hasSuffix(" 5") == true)
      #expect(lines("http_server_request_duration_seconds_count").isEmpty)
      continuation.finish()
      #expect(try await chunks.next() == nil)
    }
    #expect(lines("http_server_active").first?.hasSuffix(" 0") == true)
  }
}

extension PrometheusRegistry {
  static func of(_ metrics: [MetricName]) -> PrometheusRegistry {
    PrometheusRegistry(
      Dictionary(
        uniqueKeysWithValues: metrics.map {
          let unit: MetricDescription.Unit =
            switch $0.unit {
            case .none: .none
            case .bytes: .bytes
            case .seconds: .seconds
            case .bytesPerSecond: .bytesPerSecond
            }
          return ($0.label, MetricDescription(unit: unit, help: $0.meaning, buckets: $0.buckets))
        }))
  }
}
