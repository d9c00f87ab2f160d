import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore

/// What each interceptor adds to a request that it lets pass, beside the work that it is there for.
///
///     swift run -c release interceptor-benchmark
///
/// One task, one request after the other, no network: a chain whose end answers at once. Rounds are interleaved, and the
/// best of them counts, as everything else on the machine only adds to it.
@main struct InterceptorBenchmark {
  static let rounds = 15
  static let requests = 10_000

  static func main() async throws {
    let chains = try chains()
    var best = chains.map { _ in Double.infinity }
    for _ in 0..<rounds {
      for (index, chain) in chains.enumerated() {
        best[index] = min(best[index], try await microseconds(chain.next, chain.request))
      }
    }
    print("| chain | µs a request | beyond an empty chain |\n|---|---|---|")
    for (chain, time) in zip(chains, best) {
      print("| \(chain.name) | \(rounded(time)) | \(rounded(time - best[0])) |")
    }
  }

  private struct Chain {
    var name: String
    var request: Request
    var next: Next
  }

  private static func chains() throws -> [Chain] {
    let fields: HTTPFields = [
      .accept: "application/json", .userAgent: "benchmark/1.0", .acceptLanguage: "en", .cacheControl: "max-age=60",
    ]
    var request = try Request(url: "http://device/api/v1/readings?from=1&to=2")
    request.head.headerFields = fields
    let answer: @Sendable (Request) async throws -> Response = { _ in
      Response(
        status: .ok,
        fields: [.contentType: "application/json", .cacheControl: "max-age=600", .contentLength: "2"], body: Body("{}"))
    }
    func chain(_ name: String, _ interceptors: any Interceptor...) -> Chain {
      Chain(name: name, request: request, next: Next(interceptors[...], terminal: answer))
    }
    let elsewhere = Scope(hosts: ["elsewhere"], paths: ["/x"])
    let file = try HARFile("/dev/null")
    return [
      chain("an empty chain"),
      chain(
        "ten out of scope", Retry(scope: elsewhere), Retry(scope: elsewhere), Retry(scope: elsewhere),
        Retry(scope: elsewhere), Retry(scope: elsewhere), Retry(scope: elsewhere), Retry(scope: elsewhere),
        Retry(scope: elsewhere), Retry(scope: elsewhere), Retry(scope: elsewhere)),
      chain("Retry", Retry()),
      chain("Redirect", Redirect()),
      chain("Canonicalize", Canonicalize()),
      chain("Authenticate, no login asked for", Authenticate(hosts: ["device"], user: "u", password: "p")),
      chain("Transform, another type", Transform(mediaTypes: ["text/html"]) { _ in nil }),
      chain("Compress, the client's end", Compress(at: .client)),
      chain("Compress, the gateway's end, not asked", Compress(at: .gateway)),
      chain("Trace, to nobody", Trace(to: Nobody())),
      chain("Trace, to a HAR file", Trace(to: file)),
      chain("Cache, a hit in memory", Cache()),
    ]
  }

  private struct Nobody: TraceRecorder {
    func record(_ exchange: TracedExchange) {}
  }

  private static func microseconds(_ next: Next, _ request: Request) async throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<requests {
      for try await _ in try await next(request).body {}
    }
    let time = ContinuousClock.now - start
    return Double(time.components.attoseconds) / 1e12 / Double(requests)
      + Double(time.components.seconds) * 1e6 / Double(requests)
  }

  private static func rounded(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    return
      "\(hundredths < 0 ? "-" : "")\(abs(hundredths) / 100).\(abs(hundredths) % 100 < 10 ? "0" : "")\(abs(hundredths) % 100)"
  }
}
