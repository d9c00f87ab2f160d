import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(2))) struct CookieTests {
  private static let site: Rig.Handler = { request in
    var fields: HTTPFields = [:]
    fields[values: .setCookie] = ["a=1; Path=/; Expires=Wed, 01 Jan 2070 00:00:00 GMT", "b=2; Path=/"]
    if request.path == "/redirect" { fields[.location] = "/end" }
    return Response(
      status: request.path == "/redirect" ? .found : .ok, fields: request.path == "/none" ? [:] : fields,
      body: Body(request.field("cookie") ?? "-"))
  }

  private func sorted(_ data: Data) -> [String] {
    data.text.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }.sorted()
  }

  @Test("received cookies are stored and sent back")
  func stored() async throws {
    try await withRig(Self.site) { rig in
      let session = rig.session()
      let (first, _) = try await session.data(from: .device())
      #expect(first.text == "-")
      let (data, _) = try await session.data(from: .device())
      #expect(sorted(data) == ["a=1", "b=2"])
      #expect(session.configuration.httpCookieStorage?.cookies(for: .device())?.count == 2)
    }
  }

  @Test("a cookie set by a redirect is sent with the next request")
  func redirected() async throws {
    try await withRig(Self.site) { rig in
      let (data, _) = try await rig.session().data(from: .device("/redirect"))
      #expect(sorted(data) == ["a=1", "b=2"])
    }
  }

  @Test("a device cannot set cookies for other hosts, and its own follow domain, path and expiry")
  func foreign() async throws {
    try await withRig { request in
      var fields: HTTPFields = [:]
      if request.path == "/admin/set" {
        fields[values: .setCookie] = [
          "a=1; Domain=.swift.org; Path=/", "b=2; Domain=device; Path=/", "c=3; Secure; Path=/", "d=4",
          "e=5; Max-Age=100; Path=/", "f=6; Max-Age=100; Path=/", "f=; Max-Age=0; Path=/",
        ]
      }
      return Response(status: .ok, fields: fields, body: Body(request.field("cookie") ?? "-"))
    } _: { rig in
      let session = rig.session()
      let storage = try #require(session.configuration.httpCookieStorage)
      _ = try await session.data(from: .device("/admin/set"))
      #expect((storage.cookies ?? []).map(\.name).sorted() == ["b", "c", "d", "e"])
      #expect(try await sorted(session.data(from: .device("/")).0) == ["b=2", "e=5"])
      #expect(try await session.data(from: .device("/admin/x")).0.text.hasPrefix("d=4; "))
      let other = try #require(URL(string: "http://other.device/"))
      #expect(try await session.data(from: other).0.text == "-")
    }
  }

  @Test(
    "a cookie with a path is sent for that path and below, and a secure one only over https")
  func paths() async throws {
    try await withRig { request in
      var fields: HTTPFields = [:]
      switch request.path {
      case "/": fields[values: .setCookie] = ["a=1; Path=/admin", "s=1; Path=/; Secure"]
      case "/admin/leave": fields[.location] = "/left"
      default: break
      }
      return Response(
        status: fields.contains(.location) ? .found : .ok, fields: fields, body: Body(request.field("cookie") ?? "-"))
    } _: { rig in
      let session = rig.session()
      _ = try await session.data(from: .device())
      for path in ["/admin", "/admin/", "/admin/users?x=1"] {
        #expect(try await session.data(from: .device(path)).0.text == "a=1")
      }
      for path in ["/administrator", "/admi", "/x/admin", "/admin/leave"] {
        #expect(try await session.data(from: .device(path)).0.text == "-")
      }
    }
  }

  @Test("a host with the maximum number of cookies can change its cookies, and set no new ones")
  func full() async throws {
    try await withRig { request in
      var fields: HTTPFields = [:]
      fields[values: .setCookie] =
        request.path == "/fill"
        ? (0..<180).map { "c\($0)=old; Path=/" } : ["more=1; Path=/", "c7=new; Path=/", "c7=1; Path=/more"]
      return Response(status: .ok, fields: fields)
    } _: { rig in
      let session = rig.session()
      let storage = try #require(session.configuration.httpCookieStorage)
      _ = try await session.data(from: .device("/fill"))
      #expect(storage.cookies?.count == 180)
      _ = try await session.data(from: .device("/more"))
      #expect(storage.cookies?.count == 180)
      #expect(storage.cookies?.first { $0.name == "c7" }?.value == "new")
      #expect(storage.cookies?.contains { $0.name == "more" } == false)
    }
  }

  @Test("the cookie policies never accept and never send apply, also to single requests")
  func policies() async throws {
    try await withRig(Self.site) { rig in
      let never = rig.session { $0.httpCookieAcceptPolicy = .never }
      _ = try await never.data(from: .device())
      #expect(try await never.data(from: .device()).0.text == "-")

      let silent = rig.session { $0.httpShouldSetCookies = false }
      _ = try await silent.data(from: .device())
      #expect(try await silent.data(from: .device()).0.text == "-")
      #expect(silent.configuration.httpCookieStorage?.cookies(for: .device())?.isEmpty == false)

      let session = rig.session()
      var request = URLRequest(url: .device())
      request.httpShouldHandleCookies = false
      _ = try await session.data(for: request)
      #expect(try await session.data(from: .device("/none")).0.text == "-")
    }
  }
}
