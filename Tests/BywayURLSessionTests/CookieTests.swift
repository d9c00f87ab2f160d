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

  @Test("cookies that come are stored and sent back")
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

  @Test("a cookie set by a redirect goes with the request that follows")
  func redirected() async throws {
    try await withRig(Self.site) { rig in
      let (data, _) = try await rig.session().data(from: .device("/redirect"))
      #expect(sorted(data) == ["a=1", "b=2"])
    }
  }

  @Test("policies are kept: never accept, never send, and requests that want no cookies")
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
