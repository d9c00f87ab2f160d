import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import NIOCore
import Testing

/// Reload of a gateway while it serves.
@Suite("Reload of a gateway", .timeLimit(.minutes(1))) struct GatewayReloadTests {
  private let transports = TransportRegistry([LoopbackTransport()])

  private func link() throws -> Link { try transports.link("loopback:reload-\(UInt64.random(in: 0 ... .max))") }

  private func impatient(_ link: Link) -> BywayClient {
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .milliseconds(100)
    return BywayClient(link, configuration: configuration)
  }

  private func text(_ client: BywayClient) async throws -> String {
    String(buffer: try await client.get("http://device/").body.collect(upTo: 100))
  }

  @Test("new requests follow the new rules over the open link, and running ones finish under the old ones")
  func handlers() async throws {
    let link = try link()
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link], origin: .handler { _ in Response(status: .ok, body: Body(chunks)) }))
    let client = BywayClient(link)
    let running = try await client.get("http://device/")
    sender.yield(ByteBuffer(string: "old"))
    var body = running.body.makeAsyncIterator()
    #expect(try await body.next().map { String(buffer: $0) } == "old")
    let open = try #require(await gateway.openLinks().first)

    let next = GatewayConfiguration(
      links: [link], origin: .handler { _ in Response(status: .ok, body: Body("new")) })
    try await gateway.reload(next, within: .seconds(10))
    #expect(try await text(client) == "new")
    sender.yield(ByteBuffer(string: "still old"))
    #expect(try await body.next().map { String(buffer: $0) } == "still old")
    sender.finish()
    #expect(try await body.next() == nil)
    #expect(await gateway.openLinks().map(\.since) == [open.since])
    await client.shutDown()
    await gateway.stop(within: .zero)
  }

  @Test("a new link is opened, and a removed one closes after its requests")
  func links() async throws {
    let (first, second, third) = (try link(), try link(), try link())
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let origin = Origin.handler { request in
      request.head.path == "/slow"
        ? Response(status: .ok, body: Body(chunks)) : Response(status: .ok, body: Body("here"))
    }
    let gateway = try await Gateway.start(GatewayConfiguration(links: [first, second], origin: origin))
    let (leaving, staying) = (BywayClient(first), BywayClient(second))
    let running = try await leaving.get("http://device/slow")
    #expect(try await text(staying) == "here")
    let stays = await gateway.openLinks().first { $0.address == second.address }

    async let reload: Void = gateway.reload(
      GatewayConfiguration(links: [second, third], origin: origin), within: .seconds(20))
    let arriving = BywayClient(third)
    #expect(try await text(arriving) == "here")
    sender.yield(ByteBuffer(string: "end"))
    sender.finish()
    #expect(String(buffer: try await running.body.collect(upTo: 10)) == "end")
    try await reload
    #expect(gateway.addresses == [second.address, third.address])
    let refused = impatient(first)
    await #expect(throws: BywayError.self) { try await self.text(refused) }
    #expect(await gateway.openLinks().first { $0.address == second.address }?.since == stays?.since)
    for client in [leaving, staying, arriving, refused] { await client.shutDown() }
    await gateway.stop(within: .zero)
  }

  @Test("an invalid configuration changes nothing, and opens nothing")
  func refused() async throws {
    let (first, fresh, taken) = (try link(), try link(), try link())
    func origin(_ text: String) -> Origin { .handler { _ in Response(status: .ok, body: Body(text)) } }
    let other = try await Gateway.start(GatewayConfiguration(links: [taken], origin: origin("other")))
    let gateway = try await Gateway.start(GatewayConfiguration(links: [first], origin: origin("old")))
    let client = BywayClient(first)
    #expect(try await text(client) == "old")
    let error = await #expect(throws: BywayError.self) {
      try await gateway.reload(
        GatewayConfiguration(links: [fresh, taken], origin: origin("new")), within: .seconds(1))
    }
    #expect(error?.code == .linkUnavailable)
    #expect(gateway.addresses == [first.address])
    #expect(try await text(client) == "old")
    let closed = impatient(fresh)
    await #expect(throws: BywayError.self) { try await self.text(closed) }
    for client in [client, closed] { await client.shutDown() }
    await gateway.stop(within: .zero)
    await other.stop(within: .zero)
  }

  @Test("a prepared reload takes effect on commit, and leaves nothing when abandoned")
  func phases() async throws {
    let (first, fresh) = (try link(), try link())
    func configuration(_ text: String, _ links: [Link]) -> GatewayConfiguration {
      GatewayConfiguration(links: links, origin: .handler { _ in Response(status: .ok, body: Body(text)) })
    }
    let gateway = try await Gateway.start(configuration("old", [first]))
    let client = BywayClient(first)
    let cancelled = try await gateway.prepare(configuration("never", [first, fresh]))
    #expect(try await text(client) == "old")
    await cancelled.cancel()
    #expect(gateway.addresses == [first.address])
    let closed = impatient(fresh)
    await #expect(throws: BywayError.self) { try await self.text(closed) }

    let next = try await gateway.prepare(configuration("new", [first, fresh]))
    #expect(try await text(client) == "old")
    let early = BywayClient(fresh)
    async let arriving = text(early)
    await next.commit(within: .zero)
    // A request that arrives over a new link before the commit is served by the committed configuration.
    #expect(try await arriving == "new")
    #expect(try await text(client) == "new")
    for client in [client, closed, early] { await client.shutDown() }
    await gateway.stop(within: .zero)
  }

  @Test("two gateways can exchange links, and keep their own if the exchange fails")
  func exchange() async throws {
    let (first, second, taken) = (try link(), try link(), try link())
    func configuration(_ text: String, _ links: [Link]) -> GatewayConfiguration {
      GatewayConfiguration(links: links, origin: .handler { _ in Response(status: .ok, body: Body(text)) })
    }
    let holder = try await Gateway.start(configuration("holder", [taken]))
    let one = try await Gateway.start(configuration("one", [first]))
    let two = try await Gateway.start(configuration("two", [second]))
    let held: Set = [first.address.place, second.address.place]
    func answers() async throws -> [String] {
      var answers: [String] = []
      for link in [first, second] {
        let client = BywayClient(link)
        answers.append(try await text(client))
        await client.shutDown()
      }
      return answers
    }
    func go(_ links: ([Link], [Link]), besides held: Set<String>) async throws {
      let changeovers = [
        try await one.prepare(configuration("one", links.0), besides: held),
        try await two.prepare(configuration("two", links.1), besides: held),
      ]
      var wanted: Set<String> = []
      for changeover in changeovers { wanted.formUnion(await changeover.wanted) }
      for changeover in changeovers { await changeover.drain(wanted, within: .seconds(1)) }
      do {
        for changeover in changeovers { try await changeover.openRest() }
      } catch {
        for changeover in changeovers { await changeover.closeOpened() }
        for changeover in changeovers { await changeover.cancel() }
        throw error
      }
      for changeover in changeovers { await changeover.commit(within: .zero) }
    }
    await #expect(throws: BywayError.self) {
      try await go(([second], [first, taken]), besides: held.union([taken.address.place]))
    }
    #expect(try await answers() == ["one", "two"])
    try await go(([second], [first]), besides: held)
    #expect(try await answers() == ["two", "one"])
    for gateway in [holder, one, two] { await gateway.stop(within: .zero) }
  }

  @Test("a link whose options change is opened again")
  func options() async throws {
    let first = try link()
    let other = try transports.link("\(first.address)?http=2")
    let origin = Origin.handler { _ in Response(status: .ok, body: Body("here")) }
    let gateway = try await Gateway.start(GatewayConfiguration(links: [first], origin: origin))
    let client = BywayClient(first)
    #expect(try await text(client) == "here")
    try await gateway.reload(GatewayConfiguration(links: [other], origin: origin), within: .seconds(1))
    #expect(gateway.addresses == [other.address])
    #expect(try await text(client) == "here")
    let ending = Task { try await gateway.waitUntilEnded() }
    #expect(try await text(client) == "here")
    await client.shutDown()
    await gateway.stop(within: .zero)
    try await ending.value
  }

  @Test("removed interceptors are shut down, and others stay")
  func interceptors() async throws {
    let link = try link()
    let (stays, goes) = (Counting(), Counting())
    let origin = Origin.handler { _ in Response(status: .ok) }
    var configuration = GatewayConfiguration(links: [link], origin: origin)
    configuration.interceptors = [stays, goes]
    let gateway = try await Gateway.start(configuration)
    configuration.interceptors = [stays]
    try await gateway.reload(configuration, within: .zero)
    #expect(await (stays.count, goes.count) == (0, 1))
    await gateway.stop(within: .zero)
    #expect(await (stays.count, goes.count) == (1, 1))
  }

  private actor Counting: Interceptor {
    var count = 0

    func intercept(_ request: Request, next: Next) async throws -> Response { try await next(request) }
    func shutDown() async { count += 1 }
  }
}
