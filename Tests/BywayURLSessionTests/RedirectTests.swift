import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(2))) struct RedirectTests {
  private static func moved(_ status: Int, _ place: String) -> Response {
    Response(status: .init(code: status), fields: [.location: place], body: Body("moved"))
  }

  private static let site: Rig.Handler = { request in
    switch request.path {
    case "/303": return moved(303, "/end?a=b")
    case "/307": return moved(307, "/end")
    case "/away": return moved(302, "http://elsewhere.invalid/")
    case "/sister": return moved(302, "http://other.device/end")
    case let path where path.hasPrefix("/chain/"):
      return moved(302, "/chain/\((Int(path.dropFirst(7)) ?? 0) + 1)")
    default:
      let body = try await request.body.collect(upTo: 1000)
      let parts = ["\(request.head.method)", request.path, request.field("authorization") ?? "-", String(buffer: body)]
      return Response(status: .ok, body: Body(parts.joined(separator: " ")))
    }
  }

  @Test("redirects follow RFC 9110, and the response has the final URL")
  func followed() async throws {
    try await withRig(Self.site) { rig in
      var request = URLRequest(url: .device("/303"))
      request.httpMethod = "POST"
      request.httpBody = Data("hello".utf8)
      request.setValue("mine", forHTTPHeaderField: "Authorization")
      let session = rig.session()
      let (data, response) = try await session.data(for: request)
      #expect(data.text == "GET /end?a=b mine ")
      #expect(response.url == .device("/end?a=b"))

      request.url = .device("/307")
      #expect(try await session.data(for: request).0.text == "POST /end mine hello")

      request = URLRequest(url: .device("/sister"))
      request.setValue("mine", forHTTPHeaderField: "Authorization")
      #expect(try await session.data(for: request).0.text == "GET /end - ")
    }
  }

  @Test("the delegate is asked about a redirect before it receives a response")
  func asked() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      try await rig.dataTask("/303", for: observer)
      #expect(
        observer.events == ["redirect 303 GET http://device/end?a=b", "response 200", "data", "complete"])
    }
  }

  @Test("a delegate that refuses a redirect receives it as the response")
  func refused() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.redirect = { _, _ in nil }
      try await rig.dataTask("/303", for: observer)
      #expect(observer.response?.statusCode == 303)
      #expect(observer.data.text == "moved")
      #expect(observer.response?.url == .device("/303"))
    }
  }

  @Test("a delegate can replace the request of a redirect")
  func changed() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.redirect = { _, request in
        var request = request
        request.url = .device("/chosen")
        request.setValue("new", forHTTPHeaderField: "Authorization")
        return request
      }
      try await rig.dataTask("/303", for: observer)
      #expect(observer.data.text == "GET /chosen new ")
      #expect(observer.response?.url == .device("/chosen"))
    }
  }

  @Test("the delegate of an async call is asked about a redirect as well")
  func taskDelegate() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.redirect = { _, _ in nil }
      let (_, response) = try await rig.session().data(from: .device("/303"), delegate: observer)
      #expect(response.http?.statusCode == 303)
      #expect(observer.events == ["redirect 303 GET http://device/end?a=b", "response 303", "data"])
      #expect(observer.data.text == "moved")
    }
  }

  @Test("a redirect to a URL without a route is returned to the caller")
  func away() async throws {
    try await withRig(Self.site) { rig in
      let (data, response) = try await rig.session().data(from: .device("/away"))
      #expect(response.http?.statusCode == 302)
      #expect(data.text == "moved")
    }
  }

  @Test("an endless redirect is an error with the last URL")
  func endless() async throws {
    try await withRig(Self.site) { rig in
      let error = await #expect(throws: URLError.self) { try await rig.session().data(from: .device("/chain/0")) }
      #expect(error?.code == .httpTooManyRedirects)
      #expect(error?.failingURL == .device("/chain/20"))
    }
  }
}
