import Byway
import BywayHTTPWire
import Testing

@testable import BywayProxy

/// Rules for web pages that use a proxy. Browsers identify the page in `Origin` (RFC 6454) and in Fetch Metadata.
@Suite struct PageRulesTests {
  private static func refusal(
    _ fields: [String: String], method: String = "GET", to target: String = "http://localhost:8080",
    allowing allowed: [String] = []
  ) throws -> BywayError? {
    var request: FieldSection = [":method": method]
    for (name, value) in fields { request.append(name: name, value: value) }
    let rules = try PageRules(allowed: allowed)
    do throws(BywayError) {
      try rules.admit(request, to: PageOrigin(target))
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "a request from another site's page is refused by any of the fields that identify it",
    arguments: [
      ["origin": "http://evil.example"], ["origin": "null"], ["origin": "http://localhost:8080@evil.example"],
      ["origin": "http://localhost.evil.example:8080"], ["origin": ""], ["origin": "localhost:8080"],
      ["origin": "http://localhost:8080/"], ["origin": "https://localhost:8080"], ["origin": "http://localhost"],
      ["origin": "http://127.0.0.1:8080"], ["origin": "http://[::1]:8080"], ["origin": "http://localhost:3000"],
      ["origin": "http://evil.example http://localhost:8080"],
      ["sec-fetch-site": "cross-site"], ["sec-fetch-site": "cross-site", "sec-fetch-dest": "image"],
      ["sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"],
      ["sec-fetch-site": "same-site"], ["sec-fetch-site": "same-site", "sec-fetch-dest": "script"],
      ["sec-fetch-site": "SAME-ORIGIN"], ["sec-fetch-site": ""],
      ["sec-fetch-site": "cross-site", "origin": "http://localhost:3000"],
      ["sec-fetch-site": "cross-site", "origin": "http://localhost:3000", "sec-fetch-dest": "document"],
    ])
  func foreign(fields: [String: String]) throws {
    #expect(try Self.refusal(fields)?.code == .forbidden)
    #expect(try Self.refusal(fields, method: "POST")?.code == .forbidden)
  }

  @Test(
    "requests of the device's own pages, other programs and the user's own navigation pass",
    arguments: [
      [:], ["origin": "http://localhost:8080"], ["origin": "HTTP://LOCALHOST.:8080"],
      ["sec-fetch-site": "same-origin"], ["sec-fetch-site": "none", "sec-fetch-dest": "document"],
      // Behind a TLS front end, the browser sees another scheme than this proxy.
      ["sec-fetch-site": "same-origin", "origin": "https://localhost:8080"],
      ["sec-fetch-site": "cross-site", "origin": "http://localhost:8080"],
    ])
  func own(fields: [String: String]) throws {
    for method in ["GET", "POST", "CONNECT"] { #expect(try Self.refusal(fields, method: method) == nil) }
  }

  @Test("navigation from another site may use GET and HEAD only", arguments: ["cross-site", "same-site"])
  func navigation(_ site: String) throws {
    let fields = ["sec-fetch-site": site, "sec-fetch-dest": "document"]
    for method in ["GET", "HEAD"] { #expect(try Self.refusal(fields, method: method) == nil) }
    for method in ["POST", "PUT", "DELETE", "CONNECT", "get"] {
      #expect(try Self.refusal(fields, method: method)?.code == .forbidden, "\(method)")
    }
  }

  @Test("a default port is optional in Origin and in the target")
  func defaultPorts() throws {
    for (page, target, isOwn) in [
      ("http://device", "http://device:80", true), ("http://device:80", "http://device", true),
      ("https://device", "https://device:443", true), ("https://device", "http://device", false),
      ("https://device:80", "http://device", false), ("http://device:443", "https://device", false),
      ("http://device:8080", "http://device", false),
    ] {
      #expect(try (Self.refusal(["origin": page], to: target) == nil) == isOwn, "\(page) at \(target)")
    }
  }

  @Test("an allowed origin may use every method, identified by Origin or else by Referer")
  func allowed() throws {
    let allowed = ["https://app.example", "http://localhost:3000"]
    for fields in [
      ["origin": "https://app.example"], ["origin": "https://APP.example:443"], ["origin": "http://localhost:3000"],
      ["sec-fetch-site": "cross-site", "referer": "https://app.example/page?x"],
    ] {
      #expect(try Self.refusal(fields, method: "POST", allowing: allowed) == nil, "\(fields)")
    }
    for fields in [
      ["origin": "http://app.example"], ["origin": "https://app.example.evil"], ["origin": "http://localhost:3001"],
      ["origin": "https://evil.example", "referer": "https://app.example/"], ["origin": "null"],
      ["sec-fetch-site": "cross-site", "referer": "https://app.example@evil.example/"],
      ["sec-fetch-site": "cross-site", "referer": "https://evil.example/https://app.example"],
    ] {
      #expect(try Self.refusal(fields, allowing: allowed)?.code == .forbidden, "\(fields)")
    }
  }

  @Test("the refusal explains how to allow the page")
  func message() throws {
    let error = try Self.refusal(["origin": "https://app.example:443"])
    #expect(error?.message.contains("add https://app.example to its allowedPages if") == true)
    #expect(error?.advice == .allowPage("https://app.example"))
    #expect(try Self.refusal(["origin": "null"])?.message.contains("add the page's origin to its allowedPages") == true)
  }

  @Test(
    "an invalid allowed origin is reported at the start of the proxy",
    arguments: [
      "", "null", "app.example", "http://", "https://app.example/", "http://u@app.example", "http://*.example", "*",
    ])
  func bad(_ text: String) {
    let error = #expect(throws: BywayError.self) { try PageRules(allowed: [text]) }
    #expect(error?.code == .invalidAddress)
  }
}
