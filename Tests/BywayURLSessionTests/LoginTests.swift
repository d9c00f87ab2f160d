import Byway
import BywayInterceptors
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import Synchronization
import TestPeers
import Testing

@Suite(.timeLimit(.minutes(2))) struct LoginTests {
  private static let basic = "Basic " + Data("admin:secret".utf8).base64EncodedString()

  /// Requires Basic credentials.
  private static let site: Rig.Handler = { request in
    guard request.field("authorization") == basic else {
      return Response(
        status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=\"panel\""], body: Body("who are you?"))
    }
    let body = try await request.body.collect(upTo: 100)
    return Response(status: .ok, body: Body("\(request.head.method) \(String(buffer: body))"))
  }

  private static func credential(_ password: String) -> URLCredential {
    URLCredential(user: "admin", password: password, persistence: .forSession)
  }

  @Test("without credentials, a 401 is delivered, and only the link is used")
  func nobody() async throws {
    try await withRig(Self.site) { rig in
      let (data, response) = try await rig.session().data(from: .device())
      #expect(response.http?.statusCode == 401)
      #expect(data.text == "who are you?")
    }
  }

  @Test("the delegate answers a challenge, and later tasks of the session log in without another")
  func delegate() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.challenge = { _ in (.useCredential, Self.credential("secret")) }
      let session = rig.session(delegate: observer)
      var request = URLRequest(url: .device("/a"))
      request.httpMethod = "POST"
      request.httpBody = Data("hello".utf8)
      session.dataTask(with: request).resume()
      try await until { observer.isComplete }
      #expect(observer.events == ["challenge Basic device:80 panel 0", "response 200", "data", "complete"])
      #expect(observer.data.text == "POST hello")

      #expect(try await session.data(from: .device("/b")).0.text == "GET ")
      #expect(observer.events.count == 4)
    }
  }

  @Test("a delegate is asked again after wrong credentials, with the number of failures")
  func wrong() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.challenge = { (.useCredential, Self.credential($0.previousFailureCount < 2 ? "guess" : "secret")) }
      let (data, _) = try await rig.session().data(from: .device(), delegate: observer)
      #expect(data.text == "GET ")
      #expect(observer.events == (0..<3).map { "challenge Basic device:80 panel \($0)" } + ["response 200", "data"])
    }
  }

  @Test("a delegate that repeats the same wrong credentials receives the 401 in the end")
  func stubborn() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.challenge = { _ in (.useCredential, Self.credential("guess")) }
      let (_, response) = try await rig.session().data(from: .device(), delegate: observer)
      #expect(response.http?.statusCode == 401)
    }
  }

  @Test("a cancelled challenge cancels the task, and a rejected one delivers the 401")
  func refusals() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.challenge = { _ in (.cancelAuthenticationChallenge, nil) }
      let error = await #expect(throws: URLError.self) {
        try await rig.session().data(from: .device(), delegate: observer)
      }
      #expect(error?.code == .cancelled)
      observer.challenge = { _ in (.rejectProtectionSpace, nil) }
      let (_, response) = try await rig.session().data(from: .device(), delegate: observer)
      #expect(response.http?.statusCode == 401)
    }
  }

  @Test("credentials in the URL and in the session's storage are used")
  func stored() async throws {
    try await withRig(Self.site) { rig in
      let url = try #require(URL(string: "http://admin:secret@device/"))
      #expect(try await rig.session().data(from: url).0.text == "GET ")

      let storage = try #require(URLSessionConfiguration.ephemeral.urlCredentialStorage)
      let space = URLProtectionSpace(
        host: "device", port: 80, protocol: "http", realm: "panel",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
      storage.setDefaultCredential(Self.credential("secret"), for: space)
      let session = rig.session { $0.urlCredentialStorage = storage }
      #expect(try await session.data(from: .device()).0.text == "GET ")
    }
  }

  @Test("credentials in the URL are sent to its origin only, not to the target of a redirect")
  func redirected() async throws {
    let received = Mutex<[String]>([])
    try await withRig { request in
      if let field = request.field("authorization") {
        received.withLock { $0.append("\(request.head.authority ?? "") \(field)") }
      }
      if request.head.authority == "device", request.field("authorization") == nil || request.path == "/own" {
        return try await Self.site(request)
      }
      if request.head.authority == "device" {
        return Response(status: .found, fields: [.location: "http://evil.device/"])
      }
      return try await Self.site(request)
    } _: { rig in
      let url = try #require(URL(string: "http://admin:secret@device/"))
      let (_, response) = try await rig.session().data(from: url)
      #expect(response.http?.statusCode == 401)
      #expect(response.http?.url?.host() == "evil.device")
      #expect(received.withLock { $0 } == ["device \(Self.basic)"])
    }
  }

  @Test("a session does not use credentials from another session's delegate")
  func apart() async throws {
    try await withRig(Self.site) { rig in
      let observer = TaskObserver()
      observer.challenge = { _ in (.useCredential, Self.credential("secret")) }
      _ = try await rig.session().data(from: .device(), delegate: observer)
      let (_, response) = try await rig.session().data(from: .device())
      #expect(response.http?.statusCode == 401)
    }
  }

  @Test("Digest is answered to a server that verifies it")
  func digest() async throws {
    let challenges = Mutex(0)
    try await withRig { request in
      guard let field = request.field("authorization") else {
        challenges.withLock { $0 += 1 }
        return Response(
          status: .unauthorized,
          fields: [
            .wwwAuthenticate:
              "Digest realm=\"http-auth@example.org\", qop=\"auth\", algorithm=SHA-256, nonce=\"7ypf/xlj9XXwfDPEoM4URrv\""
          ])
      }
      let wanted = ["Digest ", "username=\"Mufasa\"", "uri=\"/dir/index.html\"", "qop=auth", "algorithm=SHA-256"]
      return Response(status: wanted.allSatisfy(field.contains) ? .ok : .badRequest, body: Body(field))
    } _: { rig in
      let observer = TaskObserver()
      observer.challenge = { _ in
        (.useCredential, URLCredential(user: "Mufasa", password: "Circle of Life", persistence: .none))
      }
      let (data, response) = try await rig.session().data(from: .device("/dir/index.html"), delegate: observer)
      #expect(response.http?.statusCode == 200)
      #expect(!data.text.contains("Circle"))
      #expect(observer.events.first == "challenge Digest device:80 http-auth@example.org 0")
      #expect(challenges.withLock { $0 } == 1)
    }
  }
}
