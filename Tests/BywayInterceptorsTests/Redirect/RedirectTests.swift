import Byway
import BywayInterceptors
import HTTPTypes
import Testing

@Suite struct RedirectTests {
  /// Returns an origin that redirects once, from `/from` to the given place.
  private static func origin(_ status: Int, to location: String) -> TestOrigin {
    TestOrigin { request in
      guard request.head.path == "/from" else { return Response(status: .ok, body: Body("there")) }
      return Response(status: .init(code: status), fields: [.location: location], body: Body("gone"))
    }
  }

  @Test(
    "a redirect changes the method as in RFC 9110 §15.4",
    arguments: [
      (301, .get, .get), (301, .post, .get), (301, .put, .put), (301, .head, .head),
      (302, .post, .get), (302, .delete, .delete), (303, .post, .get), (303, .put, .get), (303, .head, .head),
      (307, .post, .post), (307, .get, .get), (308, .post, .post), (308, .patch, .patch),
    ] as [(Int, HTTPRequest.Method, HTTPRequest.Method)])
  func method(_ status: Int, _ before: HTTPRequest.Method, _ after: HTTPRequest.Method) async throws {
    let origin = Self.origin(status, to: "/to")
    var request = try Request(before, url: "http://a/from", body: Body("content"))
    request.head.headerFields = [.contentType: "text/plain", .contentLength: "7", .accept: "x"]
    #expect(try await origin.behind(Redirect())(request).text == "there")
    let last = try #require(origin.requests.last)
    #expect(last.head.method == after)
    #expect(last.head.headerFields[.accept] == "x")
    let keeps = before == after && before != .get && before != .head
    #expect(last.head.headerFields[.contentType] == (keeps ? "text/plain" : nil))
    #expect(String(buffer: try await last.body.collect(upTo: 100)) == (keeps ? "content" : ""))
  }

  @Test(
    "a Location is resolved against the request's URL (RFC 3986 §5.4)",
    arguments: [
      ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
      ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
      ("g#s", "http://a/b/c/g"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
      ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../../g", "http://a/g"),
      ("/./g", "http://a/g"), ("g..", "http://a/b/c/g.."), ("./g/.", "http://a/b/c/g/"),
      ("g;x=1/../y", "http://a/b/c/y"),
      ("g?y/../x", "http://a/b/c/g?y/../x"), ("HTTP://B:80/%7Ex y", "http://b/~x%20y"),
      ("/ä", "http://a/%C3%A4"),
    ])
  func references(_ location: String, _ target: String) async throws {
    let origin = TestOrigin { request in
      if request.head.headerFields[.expect] == nil { return Response(status: .ok) }
      return Response(status: .temporaryRedirect, fields: [.location: location])
    }
    let redirect = Redirect { _, next in
      var next = next
      next.head.headerFields[.expect] = nil
      return next
    }
    _ = try await origin.behind(redirect).get("http://a/b/c/d;p?q", [.expect: "once"])
    let head = try #require(origin.heads.last)
    #expect("\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")" == target)
  }

  @Test(
    "credentials are not sent to another origin",
    arguments: [
      ("/to", true), ("http://a:80/to", true), ("http://A/to", true), ("http://a:8080/to", false),
      ("http://b/to", false),
      ("https://a/to", false), ("//b.a/to", false),
    ])
  func credentials(_ location: String, _ kept: Bool) async throws {
    let origin = Self.origin(302, to: location)
    _ = try await origin.behind(Redirect()).get(
      "http://a/from", [.authorization: "Basic x", .cookie: "a=b", .proxyAuthorization: "y", .userAgent: "z"])
    let names = origin.heads.last?.headerFields.map(\.name.canonicalName)
    #expect(names == (kept ? ["authorization", "cookie", "proxy-authorization", "user-agent"] : ["user-agent"]))
  }

  @Test("a range request is redirected with its If-Range")
  func part() async throws {
    let origin = Self.origin(302, to: "http://b/to")
    _ = try await origin.behind(Redirect()).get("http://a/from", [.range: "bytes=4-", .ifRange: "\"v1\""])
    #expect(origin.heads.last?.headerFields == [.range: "bytes=4-", .ifRange: "\"v1\""])
  }

  @Test(
    "a redirect that cannot be followed is returned to the caller",
    arguments: [
      (302, "ftp://a/"), (302, "javascript:alert(1)"), (302, "http:///x"), (304, "/to"), (300, "/to"), (305, "/to"),
      (200, "/to"), (201, "/to"),
    ])
  func handedBack(_ status: Int, _ location: String) async throws {
    let origin = Self.origin(status, to: location)
    #expect(try await origin.behind(Redirect()).get("http://a/from").status.code == status)
    #expect(origin.heads.count == 1)
  }

  @Test("a redirect from https to http is not followed")
  func downgrade() async throws {
    let origin = Self.origin(302, to: "http://a/to")
    #expect(try await origin.behind(Redirect()).get("https://a/from").status == .found)
  }

  @Test("a redirect loop is an error without the query's secrets")
  func circle() async throws {
    let origin = TestOrigin { _ in Response(status: .found, fields: [.location: "/round?token=hidden"]) }
    let chain = origin.behind(Redirect(limit: 3))
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(error?.message.contains("More than 3 redirects in a row, the last one to http://a/round:") == true)
    #expect(origin.heads.count == 4)
  }

  @Test("a redirect of a request with a one-time body is returned to the caller")
  func notReplayable() async throws {
    let origin = Self.origin(307, to: "/to")
    let answer = try await origin.behind(Redirect())(Request(.post, url: "http://a/from", body: .once("x")))
    #expect(answer.status == .temporaryRedirect)
    #expect(answer.fields[.location] == "/to")
    #expect(try await answer.text == "gone")
    #expect(origin.heads.count == 1)
    // A GET without the body may still follow.
    let seeOther = Self.origin(303, to: "/to")
    let response = try await seeOther.behind(Redirect())(Request(.post, url: "http://a/from", body: .once("x")))
    #expect(response.status == .ok)
  }

  @Test("the caller can inspect a redirect, refuse it or change the next request")
  func decides() async throws {
    let origin = Self.origin(302, to: "/to")
    let refuses = Redirect { _, _ in nil }
    #expect(try await origin.behind(refuses).get("http://a/from").status == .found)
    let changes = Redirect { response, next in
      #expect(response.headerFields[.location] == "/to")
      var next = next
      next.head.headerFields[.userAgent] = "changed"
      return next
    }
    #expect(try await origin.behind(changes).get("http://a/from").status == .ok)
    #expect(origin.heads.last?.headerFields[.userAgent] == "changed")
  }
}
