import Byway
import BywayDevices
import BywayGateway
import Foundation
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import TestPeers
import TestTools
import TestWire
import Testing

@testable import BywayProxy

/// Gateways that a hub refuses, as both ends show them.
extension HubTests {
  /// Returns the reason with which a gateway's link is refused, once it is.
  private func refusal(of gateway: Gateway) async throws -> String? {
    func current() -> String? {
      if case .refused(let reason, _)? = gateway.endpoints.first?.state { reason } else { nil }
    }
    #expect(try await eventually { current() != nil }, "\(gateway.endpoints)")
    return current()
  }

  private func fresh() -> String { "loopback:hub-\(UInt64.random(in: 0 ... .max))" }

  @Test(
    "if a hub rejects a gateway's certificate, the gateway shows that, and the hub shows the certificate's name"
  )
  func refusedCertificate() async throws {
    let (own, foreign) = try await (Certificates(), Certificates())
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(own.server.options)&ca=\(own.authority)"
    let logged = LogRecord()
    var configuration = try proxy(hubs: ["\(hub)&open=listen"])
    configuration.logger = logged.logger
    let proxy = try await start(configuration)
    let identity = try await foreign.issue("camera", names: "DNS:camera")
    let atGateway = LogRecord()
    let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(own.authority)&open=dial"
    let camera = try await gateway("camera", at: link, logger: atGateway.logger)
    let reason = try #require(try await refusal(of: camera))
    #expect(reason.contains("does not trust the authority of our certificate"), "\(reason)")
    #expect(atGateway.messages.contains("Link refused: \(reason)"), "\(atGateway.all)")
    // The first connection was open for a moment, and later ones are not mentioned.
    #expect(try await eventually { atGateway.all.contains { $0.hasPrefix("debug Link refused") } }, "\(atGateway.all)")
    #expect(atGateway.entries.count { $0.level > .info } == 1, "\(atGateway.all)")
    #expect(atGateway.entries.count { $0.level == .info && $0.message == "Link open" } == 1, "\(atGateway.all)")

    let report = try #require(await proxy.hubs().first)
    #expect(report.address == "tls://127.0.0.1:\(port)" && report.gateways == 0)
    let refused = try #require(report.refusals.first)
    #expect(report.refusals.count == 1 && refused.count >= 2 && refused.at > 1_700_000_000, "\(report)")
    #expect(refused.refusal.address == "127.0.0.1" && refused.refusal.names == ["camera"], "\(report)")
    #expect(
      refused.refusal.reason
        == "The certificate of a client of tls://127.0.0.1:\(port) does not come from the authorities.", "\(report)")
    #expect(
      logged.all.contains { $0.contains("does not come from") && $0.contains("certificate=camera peer=127.0.0.1:") },
      "\(logged.all)")
  }

  @Test("if a hub requires a certificate and a gateway has none, the gateway shows that")
  func withoutCertificate() async throws {
    let certificates = try await Certificates()
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
    let proxy = try await start(proxy(hubs: ["\(hub)&open=listen"]))
    let camera = try await gateway("camera", at: "tls://127.0.0.1:\(port)?ca=\(certificates.authority)&open=dial")
    let reason = try await refusal(of: camera)
    #expect(reason?.contains("asks for a client certificate: add cert=FILE") == true, "\(reason ?? "")")
    let report = await proxy.hubs().first
    #expect(report?.refusals.first?.refusal.names == [], "\(String(describing: report))")
  }

  @Test("the refusal of a configured name says so, and ends when a reload gives the name away")
  func configuredName() async throws {
    let hub = fresh()
    let logged = LogRecord()
    var configuration = try proxy(hubs: ["\(hub)?open=listen"], devices: [device("printer")])
    configuration.logger = logged.logger
    let proxy = try await start(configuration)
    let atGateway = LogRecord()
    let printer = try await gateway("printer", at: "\(hub)?open=dial", logger: atGateway.logger)
    let reason = try await refusal(of: printer)
    #expect(reason == "claims 'printer', but the hub's configuration already has a device printer")
    let words = reason ?? ""
    #expect(logged.all.contains("warning Refused gateway: \(words). link=\(hub) peer=this machine"), "\(logged.all)")
    #expect(try await eventually { logged.all.contains { $0.hasPrefix("debug Refused gateway: \(words).") } })
    #expect(logged.entries.count { $0.message.hasPrefix("Refused") && $0.level == .warning } == 1, "\(logged.all)")
    #expect(await proxy.hubs().first?.refusals.map(\.refusal.reason) == [words])

    try await proxy.reload(self.proxy(hubs: ["\(hub)?open=listen"]), within: .seconds(1))
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    #expect(try await eventually { printer.endpoints.first?.state == .dialing }, "\(printer.endpoints)")
    #expect(await proxy.hubs().map(\.gateways) == [1])
    #expect(atGateway.entries.count { $0.level == .info && $0.message == "Link open" } == 2, "\(atGateway.all)")
  }

  @Test("the refusal of a name that another certificate has verified says so")
  func verifiedName() async throws {
    let certificates = try await Certificates()
    let (port, plain) = (try Endpoint.freePort(), fresh())
    let options = "\(certificates.server.options)&ca=\(certificates.authority)"
    let proxy = try await start(
      proxy(hubs: ["tls://127.0.0.1:\(port)?\(options)&open=listen", "\(plain)?open=listen"]))
    let identity = try await certificates.issue("printer", names: "DNS:printer")
    _ = try await gateway(
      "printer", at: "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(certificates.authority)&open=dial")
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    let liar = try await gateway("printer", at: "\(plain)?open=dial")
    #expect(try await refusal(of: liar)?.contains("but a gateway whose certificate has this name uses it") == true)
    let reports = await proxy.hubs()
    #expect(reports.map(\.gateways) == [1, 0] && reports.map(\.refusals.count) == [0, 1], "\(reports)")
  }

  @Test("a hub without room says how many devices it may have")
  func withoutRoom() async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"], mostDialed: 1, perPeer: 1))
    let printer = try await gateway("printer", at: "\(hub)?open=dial")
    #expect(try await eventually { await proxy.hubs().map(\.gateways) == [1] })
    let camera = try await gateway("camera", at: "\(hub)?open=dial")
    #expect(try await refusal(of: camera)?.contains("its address has 1 names already: allow more") == true)
    try await proxy.reload(self.proxy(hubs: ["\(hub)?open=listen"], mostDialed: 1), within: .seconds(1))
    let scanner = try await gateway("scanner", at: "\(hub)?open=dial")
    #expect(try await refusal(of: scanner) == "claims 'scanner', but the hub has its maximum of 1 devices")
    // A second gateway of a known name is in standby, and counts.
    let second = try await gateway("printer", at: "\(hub)?open=dial", says: "second")
    #expect(try await eventually { await proxy.hubs().map(\.gateways) == [2] })
    await second.stop(within: .zero)
    await printer.stop(within: .zero)
    #expect(try await eventually { await proxy.hubs().map(\.gateways) != [2] })
  }

  @Test(
    "a device with an unusable name, or without a name, is told the reason",
    arguments: [
      (#"{"name":"xn--pple-43d"}"#, "claims 'xn--pple-43d', which is not allowed, because browsers"),
      (#"{"name":"byway"}"#, "claims 'byway', which is the name of the list of devices"),
      (#"{"name":"a\u001b[31mb"}"#, "claims 'a?[31mb', which is not the name of a device"),
      ("{}", "claims no name"), ("nothing", "claims no name"),
    ])
  func unusableName(_ claim: String, _ words: String) async throws {
    let hub = fresh()
    let proxy = try await start(proxy(hubs: ["\(hub)?open=listen"]))
    // The origin describes itself, as any program may.
    var configuration = GatewayConfiguration(
      links: [try transports.link("\(hub)?open=dial")],
      origin: .handler { _ in Response(status: .ok, body: Body(claim)) })
    configuration.logger = quiet
    let gateway = try await Gateway.start(configuration)
    _ = Ending { await gateway.stop(within: .zero) }
    let reason = try await refusal(of: gateway)
    #expect(reason?.hasPrefix(words) == true, "\(reason ?? "")")
    let report = await proxy.hubs().first?.refusals.first?.refusal
    #expect(report?.reason.hasPrefix(words) == true && report?.address == nil, "\(String(describing: report))")
  }

  @Test("a link that ends at once without a reason is not shown as open")
  func withoutReason() async throws {
    let listener = try await ServerBootstrap(group: TestLoops.next())
      .childChannelInitializer { $0.close() }
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(listener.localAddress?.port)
    let logged = LogRecord()
    let camera = try await gateway("camera", at: "tcp://127.0.0.1:\(port)?open=dial", logger: logged.logger)
    #expect(try await refusal(of: camera)?.contains("as soon as it was open") == true)
    #expect(logged.entries.count { $0.level == .warning } == 1, "\(logged.all)")
    try await listener.close()
  }

  @Test("the list of devices shows the hubs with their refusals as text, and users of a proxy do not see them")
  func listed() async throws {
    let refusal = ClientRefusal(
      of: try SocketAddress(ipAddress: "192.0.2.7", port: 1), names: ["<b>"], reason: "claims '<i>'")
    let hub = HubReport(
      address: "tls://0.0.0.0:7000", gateways: 2,
      refusals: [HubReport.Refusal(refusal: refusal, count: 3, at: 1_700_000_000)])
    let place = DevicePlace("localhost", "http", beneath: ["localhost"])
    let listing = DeviceListing([], hubs: [hub], at: place)
    let page = FrontPageText.html(listing)
    #expect(
      page.contains(
        "<h2>Hub <code>tls:<wbr>/<wbr>/<wbr>0.0.0.0:<wbr>7000</code></h2>\n<p>2 gateways are connected.</p>"))
    #expect(
      page.contains("<strong>192.0.2.7</strong>, certificate for <code>&lt;b&gt;</code><br>claims '&lt;i&gt;'"),
      "\(page)")
    #expect(page.contains("<small>3 times, last <time datetime=\"2023-11-14T22:13:20Z\">"), "\(page)")
    #expect(
      "\(listing.json)".contains(
        #""hubs":[{"address":"tls://0.0.0.0:7000","gateways":2,"refusals":[{"peer":"192.0.2.7","names":["<b>"],"#),
      "\(listing.json)")
    #expect(!FrontPageText.html(DeviceListing([], at: place)).contains("<h2>Hub"))
    #expect(!"\(DeviceListing([], at: place).json)".contains("hubs"))

    for users in [nil, try UserHouse.rules(rights: "alice = *")] {
      var configuration = try proxy(hubs: ["\(fresh())?open=listen"])
      configuration.users = users
      let proxy = try await start(configuration)
      let client = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
      var request = try Request(url: "http://localhost/devices.json")
      request.head.headerFields[.authorization] = UserHouse.basic("alice")
      let response = try await client.execute(request)
      let list = String(buffer: try await response.body.collect(upTo: 1 << 16))
      #expect(response.status == .ok && list.contains("\"hubs\"") == (users == nil), "\(list)")
      await client.shutDown()
    }
  }
}
