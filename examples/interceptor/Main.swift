// swift run interceptor
//
// An interceptor sees every request before it leaves and the response before it arrives. This one adds a field to the
// request, measures the time until the response, and responds to one path itself.

import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport

struct Stopwatch: Interceptor {
  /// Only this host; requests to others skip the interceptor.
  let scope = Scope(hosts: ["device"])

  func intercept(_ request: Request, next: Next) async throws -> Response {
    if request.head.path == "/local" { return Response(status: .ok, body: Body("answered by the interceptor")) }
    var request = request
    request.head.headerFields[.userAgent] = "stopwatch"
    let clock = ContinuousClock()
    let start = clock.now
    let response = try await next(request)
    print("\(request.head.path ?? ""): \(response.status.code) after \(clock.now - start)")
    return response
  }
}

@main enum InterceptorExample {
  static func main() async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:interceptor")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link],
        origin: .handler {
          Response(status: .ok, body: Body("hello, \($0.head.headerFields[.userAgent] ?? "stranger")"))
        }))

    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [Stopwatch()]
    let client = BywayClient(link, configuration: configuration)
    for url in ["http://device/", "http://device/local", "http://elsewhere/"] {
      let response = try await client.get(url)
      print(url, "→", String(buffer: try await response.body.collect(upTo: 1000)))
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}
