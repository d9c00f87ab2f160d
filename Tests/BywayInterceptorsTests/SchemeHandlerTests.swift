import Byway
import BywayGateway
import BywayInterceptors
import HTTPTypes
import LoopbackTransport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SchemeHandlerTests {
  @Test("a function answers the URLs of its scheme and no others")
  func function() async throws {
    let origin = TestOrigin()
    let chain = origin.behind(
      try SchemeHandler("Key") { Response(status: .ok, body: Body("\($0.head.authority ?? "")\($0.head.path ?? "")")) })
    #expect(try await chain.get("key://vault/one?x").text == "vault/one?x")
    #expect(try await chain.get("KEY://vault/").text == "vault/")
    _ = try await chain.get("http://vault/one")
    #expect(origin.heads.map(\.scheme) == ["http"])
  }

  @Test("a custom scheme maps to a link, also in the Location of responses")
  func link() async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:scheme-\(UInt64.random(in: 0 ... .max))")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link],
        origin: .handler { request in
          let location = request.head.path == "/away" ? "http://elsewhere/x" : "http://hub/new?a"
          return Response(
            status: .found, fields: [.location: location], body: Body(request.head.authority ?? "nobody"))
        }))
    let far = BywayClient(link)
    let chain = TestOrigin().behind(try SchemeHandler("device", over: far))
    let response = try await chain.get("device://hub/old")
    #expect(response.fields[.location] == "device://hub/new?a")
    #expect(try await response.text == "hub")
    #expect(try await chain.get("device://hub/away").fields[.location] == "http://elsewhere/x")
    await far.shutDown()
    await gateway.stop(within: .zero)
  }

  @Test("an invalid scheme is refused", arguments: ["", "1a", "key:", "a b"])
  func refused(_ scheme: String) {
    let error = #expect(throws: BywayError.self) { try SchemeHandler(scheme) { _ in Response(status: .ok) } }
    #expect(error?.code == .unknownScheme)
  }
}
