import BywayDevices
import BywayHTTPWire
import Testing

@testable import Byway

@Suite("Data of sites that devices would share") struct SharedSiteDataTests {
  private func head(_ fields: FieldSection) -> ExchangeHead { ExchangeHead(fields: fields, isComplete: true) }

  @Test("a cookie for several devices is restricted to its own, anywhere in a response") func cookies() throws {
    let siblings = Siblings(try DeviceHosts(suffixes: ["devices.example"]))
    let rules = UpstreamRules(serverKind: .gateway, via: "2.0 hop", siblings: siblings)
    let request: FieldSection = [":authority": "evil.devices.example:80"]
    let early: FieldSection = [":status": "103", "set-cookie": "a=1; Domain=devices.example; Path=/"]
    #expect(rules.cleaned(early, of: head(request)).value(of: .setCookie) == "a=1; Path=/")
    #expect(rules.cleaned(["set-cookie": "a=1; domain=exam\u{AD}ple"], of: head([:])).value(of: .setCookie) == "a=1")
    // A server reached through the default device keeps its own domain.
    let elsewhere: FieldSection = ["set-cookie": "a=1; Domain=.Shop.test", "clear-site-data": "\"cookies\""]
    #expect(rules.cleaned(elsewhere, of: head([":authority": "www.shop.test"])) == elsewhere)
    #expect(
      rules.cleaned(["set-cookie": "a=1; Domain=example"], of: head([":authority": "www.example"])).value(
        of: .setCookie)
        == "a=1")
  }

  @Test("each of several cookies is restricted to the device that set it, in any position")
  func severalCookies() throws {
    let siblings = Siblings(try DeviceHosts(suffixes: ["devices.example"]))
    let rules = UpstreamRules(serverKind: .gateway, via: nil, siblings: siblings)
    let shared = ["a=1; Domain=devices.example", "b=2; Domain=localhost"]
    for cookies in [shared + ["c=3"], [shared[0], "c=3", shared[1]], ["c=3"] + shared, shared] {
      var response: FieldSection = [":status": "200"]
      for cookie in cookies { response.append(name: "set-cookie", value: cookie) }
      let cleaned = rules.cleaned(response, of: head([":authority": "printer.devices.example"]))
      #expect(
        cleaned.lines.filter { $0.field == .setCookie }.map { cleaned.value(of: $0) }
          == cookies.map { $0.split(separator: ";").first.map(String.init) })
    }
  }

  @Test(
    "a site cannot delete the cookies of devices below its own domain, and may delete those of any other",
    arguments: [
      ("printer.devices.example", "\"cache\""), ("devices.example", "\"cache\""), ("example", "\"cache\""),
      ("localhost", "\"cache\""), ("shop.test", "\"cookies\", \"cache\""),
    ])
  func deletedCookies(_ site: String, _ kept: String) throws {
    let siblings = Siblings(try DeviceHosts(suffixes: ["devices.example"]))
    let rules = UpstreamRules(serverKind: .gateway, via: nil, siblings: siblings)
    let response: FieldSection = ["clear-site-data": "\"cookies\", \"cache\""]
    #expect(rules.cleaned(response, of: head([":authority": site])).value(of: .clearSiteData) == kept)
  }
}
