import AllocationCounter
import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import LoopbackTransport

/// Measures the cost of a bridge for requests of its session that no route of the bridge takes. The exit status is 1 if such a
/// request allocates memory.
///
///     swift run -c release bridge-benchmark
@main enum BridgeBenchmark {
  private static let count = 100_000

  static func main() async throws {
    let client = try BywayClient(link: "loopback:nobody", transports: [LoopbackTransport()])
    let routes = [
      Scope(hosts: ["device", "*.local"]), Scope(schemes: ["device"]), Scope(paths: ["/api"], methods: [.get]),
    ]
    let bridge = try Bridge(routes.map { Route($0, over: client) })
    let address = "https://somewhere.else.example/a/path/of/some/length?and=a&query=of#parts"
    guard let url = URL(string: address) else { throw BywayError(.invalidRequest, "\(address) is not a URL.") }
    var request = URLRequest(url: url)
    request.httpMethod = "PROPFIND"
    for name in ["Accept", "Cookie", "User-Agent"] { request.setValue("a value", forHTTPHeaderField: name) }

    guard allocations() > 0 else {
      throw BywayError(.invalidRequest, "The allocations of this thread are not counted.")
    }

    let asked = bridge.protocolClass
    // Objects that are created once are created here.
    guard !asked.canInit(with: request) else { throw BywayError(.invalidRequest, "The bridge takes \(address).") }
    let (before, start) = (allocations(), ContinuousClock.now)
    for _ in 0..<count { _ = asked.canInit(with: request) }
    let (taken, time) = (allocations() - before, ContinuousClock.now - start)
    print("three routes, a request that none of them takes: \(taken) allocations in \(count) questions,")
    print("\(Int(time / .nanoseconds(count))) ns each")
    await client.shutDown()
    exit(taken == 0 ? 0 : 1)
  }
}
