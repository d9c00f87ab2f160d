import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore

/// Measures the time that each interceptor adds to a request that it passes on: its own work, and the cost of the chain.
///
/// One task sends one request after the other, without a network: the end of the chain responds at once. Own work is the
/// time of a direct call of the interceptor's function with that end behind it, minus the time of the end alone. The cost of
/// the chain is the additional time when a chain calls the interceptor. Rounds are interleaved, and the best one counts,
/// because other work on the machine only adds to it.
enum TimeBenchmark {
  static let rounds = 15
  static let requests = 10_000

  static func run() async throws {
    let empty = Next([], terminal: answer)
    let request = try request()
    let subjects = try subjects()
    var least = Double.infinity
    var best = subjects.map { _ in (own: Double.infinity, chained: Double.infinity) }
    for _ in 0..<rounds {
      least = min(least, try await microseconds(request) { try await empty($0) })
      for (index, subject) in subjects.enumerated() {
        if let alone = subject.alone { best[index].own = min(best[index].own, try await microseconds(request, alone)) }
        let chained = try await microseconds(request) { try await subject.chain($0) }
        best[index].chained = min(best[index].chained, chained)
      }
    }
    print("An empty chain and the response: \(rounded(least)) µs\n")
    print("| interceptor | own work, µs | being in a chain, µs |\n|---|---|---|")
    for (subject, time) in zip(subjects, best) {
      let own = subject.alone == nil ? least : time.own
      print("| \(subject.name) | \(rounded(own - least)) | \(rounded(time.chained - own)) |")
    }
  }

  private struct Subject {
    var name: String
    /// The interceptor's function; `nil` if it is not called directly.
    var alone: (@Sendable (Request) async throws -> Response)?
    var chain: Next

    init(_ name: String, _ interceptor: some Interceptor) {
      let rest = Next([], terminal: answer)
      self.name = name
      alone = { try await interceptor.intercept($0, next: rest) }
      chain = Next([interceptor], terminal: answer)
    }

    init(_ name: String, passedBy interceptors: [any Interceptor]) {
      self.name = name
      chain = Next(interceptors[...], terminal: answer)
    }
  }

  private static func subjects() throws -> [Subject] {
    let elsewhere = Scope(hosts: ["elsewhere"], paths: ["/x"])
    return [
      Subject("ten out of scope", passedBy: (0..<10).map { _ in Retry(scope: elsewhere) }),
      Subject("one that does nothing", Idle()),
      Subject("Retry", Retry()),
      Subject("Redirect", Redirect()),
      Subject("Canonicalize", Canonicalize()),
      Subject("Authenticate, no login requested", Authenticate(hosts: ["device"], user: "u", password: "p")),
      Subject("Transform, another type", Transform(mediaTypes: ["text/html"]) { _ in nil }),
      Subject("Compress, at the client", Compress(at: .client)),
      Subject("Compress, at the gateway, not requested", Compress(at: .gateway)),
      Subject("Trace, without a recorder", Trace(to: Nobody())),
      Subject("Trace, to a HAR file", Trace(to: try HARFile("/dev/null"))),
      Subject("Cache, a hit in memory", Cache()),
    ]
  }

  private static func request() throws -> Request {
    var request = try Request(url: "http://device/api/v1/readings?from=1&to=2")
    request.head.headerFields = [
      .accept: "application/json", .userAgent: "benchmark/1.0", .acceptLanguage: "en", .cacheControl: "max-age=60",
    ]
    return request
  }

  private static let answer: @Sendable (Request) async throws -> Response = { _ in
    Response(
      status: .ok,
      fields: [.contentType: "application/json", .cacheControl: "max-age=600", .contentLength: "2"], body: Body("{}"))
  }

  private struct Idle: Interceptor {
    func intercept(_ request: Request, next: Next) async throws -> Response { try await next(request) }
  }

  private struct Nobody: TraceRecorder {
    func record(_ exchange: TracedExchange) {}
  }

  /// Returns the time of one request, including the body of the response.
  private static func microseconds(
    _ request: Request, _ send: (Request) async throws -> Response
  ) async throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<requests {
      for try await _ in try await send(request).body {}
    }
    return (ContinuousClock.now - start) / .microseconds(requests)
  }

  private static func rounded(_ value: Double) -> String {
    let hundredths = Int((value.magnitude * 100).rounded())
    let digits = String(hundredths % 100 + 100).dropFirst()
    return "\(value < 0 && hundredths > 0 ? "-" : "")\(hundredths / 100).\(digits)"
  }
}
