import Byway
import BywayGateway
import BywayInterceptors
import BywayProxy
import HTTPTypes
import Logging
import LoopbackTransport
import TCPTransport
import TestPeers
import TestTools
import Testing

/// curl, a proxy with interceptors, a link, a gateway with interceptors, and an origin that is a function.
@Suite(.timeLimit(.minutes(1))) struct EverywhereTests {
  private static func origin(_ request: Request) async throws -> Response {
    let body = try await request.body.collect(upTo: 1 << 20)
    switch request.head.path {
    case "/page":
      return Response(
        status: .ok, fields: [.contentType: "text/html", .cacheControl: "max-age=100"], body: Body("the old page"))
    case "/private":
      // test:123£
      if request.head.headerFields[.authorization] == "Basic dGVzdDoxMjPCow==" {
        return Response(status: .ok, body: Body("welcome, \(body.readableBytes) bytes"))
      }
      return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"x\""], body: Body("who?"))
    case "/moved":
      return Response(status: .movedPermanently, fields: [.location: "/page"])
    default: return Response(status: .notFound)
    }
  }

  @Test("interceptors in proxy and gateway work together for an unmodified curl")
  func everywhere() async throws {
    let folder = try TemporaryFolder()
    try folder.write("0123456789", to: "local.txt")
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let transports = TransportRegistry([LoopbackTransport(), TCPTransport()])
    let link = try transports.link("loopback:everywhere-\(UInt64.random(in: 0 ... .max))")
    var far = GatewayConfiguration(links: [link], origin: .handler { try await Self.origin($0) })
    far.logger = quiet
    far.interceptors = [
      LocalFiles(folder.path, under: "/files"),
      Transform(mediaTypes: ["text/html"]) { _ in Replacement(of: "old", with: "new") },
    ]
    let gateway = try await Gateway.start(far)
    let lines = TraceLines()
    var near = try ProxyConfiguration(link: link, listen: transports.link("tcp://127.0.0.1:0"))
    near.logger = quiet
    near.interceptors = [
      Trace(to: lines), Canonicalize(), Redirect(), Cache(),
      Authenticate(hosts: ["127.0.0.1"], user: "test", password: "123£"), Retry(),
    ]
    let proxy = try await Proxy.start(near)
    let url = try "http://127.0.0.1:\(proxy.address.hostPort().port ?? 0)"

    let first = try await Curl.fetch("--path-as-is", url + "/x/../%70age")
    #expect(first.text == "the new page")
    let second = try await Curl.fetch(url + "/moved")
    #expect(second.status == 200)
    #expect(second.text == "the new page")
    #expect(second.values("cache-status").first?.hasPrefix("byway; hit") == true)
    let part = try await Curl.fetch("-r", "2-4", url + "/files/local.txt")
    #expect(part.status == 206)
    #expect(part.text == "234")
    // curl's body can be read once: the first is short enough to be repeated, and the second is sent with the known login.
    for _ in 0..<2 { #expect(try await Curl.fetch("-d", "12345", url + "/private").text == "welcome, 5 bytes") }
    #expect(try await Curl.fetch("-I", url + "/files/local.txt").values("content-length") == ["10"])

    #expect(try await eventually { lines.exchanges.count == 6 })
    await proxy.stop(within: .zero)
    await gateway.stop(within: .zero)
    #expect(lines.statuses.sorted() == [200, 200, 200, 200, 200, 206])
    for line in lines.texts { #expect(!line.contains("123£")) }
  }
}
