import Foundation
import TestPeers
import Testing

extension Interop {
  /// Messages between curl and the origin through the proxy arrive unchanged.
  @Suite("Messages through the proxy") struct ProxyMessageTests {
    @Test("every method arrives unchanged with its body", arguments: LinkKind.allCases)
    func methods(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "X-OWN"] {
        let body = method == "GET" ? [] : ["--data-binary", "a=1&b"]
        let echo: Echo = try await Curl.fetch(["-X", method] + body + [passage.url + "/echo"]).json()
        #expect(echo.method == method)
        #expect(echo.body == (method == "GET" ? "" : "a=1&b"))
      }
      let head = try await Curl.fetch("-I", passage.url + "/")
      #expect(head.status == 200)
      #expect(head.values("content-length") == ["13"])
      await passage.stop()
    }

    @Test("path and query arrive byte for byte", arguments: LinkKind.allCases)
    func target(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      for query in ["?", "?a=%20b+c&d=%2F%2f", "?q=a/b?c;d=e'(f)*!$,@:[]|", "?%00%ff"] {
        let echo: Echo = try await Curl.fetch("-g", passage.url + "/echo" + query).json()
        #expect(echo.target == "/echo" + query)
      }
      await passage.stop()
    }

    @Test("fields arrive once, and hop-by-hop fields not at all") func fields() async throws {
      let passage = try await Passage(over: .unix)
      let echo: Echo = try await Curl.fetch(
        "-H", "X-Hop: 1", "-H", "Connection: x-hop, keep-alive", "-H", "Keep-Alive: 5", "-H", "TE: trailers, gzip",
        "-H", "Proxy-Connection: keep-alive", "-H", "X-End: to end", "-H", "Cookie: a=1; b=2", passage.url + "/echo"
      ).json()
      #expect(echo.values("x-end") == ["to end"])
      #expect(echo.values("cookie") == ["a=1; b=2"])
      #expect(echo.values("host") == [passage.host])
      for name in ["x-hop", "keep-alive", "proxy-connection", "byway-target-form"] { #expect(echo.values(name) == []) }
      #expect(!echo.values("te").joined().contains("gzip"))
      await passage.stop()
    }

    @Test("two Set-Cookie fields stay separate, even with a comma in one of them", arguments: LinkKind.allCases)
    func cookies(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Curl.fetch(passage.url + "/cookies")
      #expect(answer.values("set-cookie") == ["a=1; Path=/", "b=2, c; Path=/"])
      await passage.stop()
    }

    @Test("trailers arrive after the body", arguments: LinkKind.allCases) func trailers(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Curl.fetch("-H", "TE: trailers", passage.url + "/trailers")
      #expect(answer.text == "with trailers\n")
      #expect(answer.trailers.filter { $0.name == "x-digest" }.map(\.value) == ["abc"])
      await passage.stop()
    }

    @Test("early hints arrive before the response, while it is still being produced", arguments: LinkKind.allCases)
    func earlyHints(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Curl.fetch(passage.url + "/early-hints")
      #expect(answer.heads.map(\.status) == [103, 200])
      #expect(answer.heads.first?.fields.map(\.value) == ["</style.css>; rel=preload"])
      await passage.stop()
    }

    @Test("100 Continue is forwarded, and so is a refused expectation") func expectation() async throws {
      let passage = try await Passage(over: .unix)
      let file = try MarkedFile(at: passage.folder["f"], size: 1 << 20)
      let expect = ["-H", "Expect: 100-continue", "--expect100-timeout", "20", "-T", file.path]
      let honoured = try await Curl.fetch(expect + [passage.url + "/digest"])
      #expect(try honoured.json(Upload.self).length == 1 << 20)
      #expect(honoured.heads.map(\.status) == [100, 200])
      let refused = try await Curl.fetch(expect + [passage.url + "/refuse-expectation"])
      #expect(refused.heads.map(\.status) == [417])
      await passage.stop()
    }

    @Test("a response before the end of the upload reaches the client") func earlyAnswer() async throws {
      let passage = try await Passage(over: .unix)
      let file = try MarkedFile(at: passage.folder["f"], size: 64 << 20)
      let answer = try await Curl.fetch("-H", "Expect:", "-T", file.path, passage.url + "/early-answer")
      #expect(answer.heads.last?.status == 413)
      await passage.stop()
    }

    @Test("responses without a body end at once", arguments: [204, 304]) func bodiless(_ code: Int) async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch(passage.url + "/status?code=\(code)", within: .seconds(5))
      #expect(answer.status == code)
      #expect(answer.values("etag") == ["\"v1\""])
      await passage.stop()
    }

    @Test("a body that ends with its connection is complete") func untilClose() async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch(passage.url + "/until-close")
      #expect(answer.exitCode == 0)
      #expect(answer.text == "the end is the end\n")
      await passage.stop()
    }

    @Test("20 KB of fields pass") func largeFields() async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch(passage.url + "/large-fields?size=20000")
      #expect(answer.heads.last?.fields.filter { $0.name.hasPrefix("x-") }.count == 20)
      await passage.stop()
    }

    @Test("the proxy serves HTTP/2 with prior knowledge on the same port", arguments: LinkKind.allCases)
    func http2(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Curl.fetch("--http2-prior-knowledge", passage.url + "/")
      #expect(answer.version == "2")
      #expect(answer.text == "hello, byway\n")
      let nghttp = try await Program.nghttp.run([passage.url + "/"])
      #expect(nghttp.text == "hello, byway\n")
      await passage.stop()
    }
  }
}
