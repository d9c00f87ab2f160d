import Byway
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayInterceptors

@Suite(.timeLimit(.minutes(1))) struct AuthenticateTests {
  /// Returns an origin that requires this Authorization value.
  static func origin(_ challenge: String, accepting value: String) -> TestOrigin {
    TestOrigin { request in
      _ = try await request.body.collect(upTo: 1 << 20)
      if request.head.headerFields[.authorization] == value { return Response(status: .ok, body: Body("in")) }
      return Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge], body: Body("out"))
    }
  }

  @Test(
    "Basic credentials match the examples of RFC 7617 §2 and §2.1",
    arguments: [
      ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
      ("", "", "Basic Og=="),
    ])
  func basic(_ user: String, _ password: String, _ value: String) async throws {
    let origin = Self.origin(#"Basic realm="WallyWorld", charset="UTF-8""#, accepting: value)
    let chain = origin.behind(Authenticate(hosts: ["a"], user: user, password: password))
    #expect(try await chain.get("http://a/x/1").text == "in")
    #expect(origin.heads.map { $0.headerFields[.authorization] } == [nil, value])
    // Later requests log in at once, on the same path and below (§2.2), and the field is never in a compression table.
    _ = try await chain.get("http://a/x/2")
    _ = try await chain.get("http://a/y")
    #expect(origin.heads.dropFirst(2).map { $0.headerFields[.authorization] } == [value, nil, value])
    #expect(origin.heads.last?.headerFields[fields: .authorization].first?.indexingStrategy == .disallow)
  }

  @Test("wrong credentials are sent once, and the caller gets the 401")
  func rejected() async throws {
    let origin = Self.origin("Basic realm=a", accepting: "never")
    let asked = Mutex(0)
    let chain = origin.behind(
      Authenticate { _ in
        asked.withLock { $0 += 1 }
        return .init(user: "u", password: "p")
      })
    let response = try await chain.get("http://a/")
    #expect(response.status == .unauthorized)
    #expect(try await response.text == "out")
    #expect(origin.heads.count == 2)
    // The wrong credentials are not kept.
    _ = try await chain.get("http://a/")
    #expect(origin.heads.map { $0.headerFields.contains(.authorization) } == [false, true, false, true])
    #expect(asked.withLock { $0 } == 2)
  }

  @Test("the strongest known challenge is answered, and an unknown one is passed to the caller")
  func strongest() async throws {
    let origin = TestOrigin { request in
      if request.head.headerFields[.authorization] != nil { return Response(status: .ok) }
      var fields = HTTPFields()
      for value in [
        "Basic realm=a", "Digest nonce=n, algorithm=SHA-512-256, qop=auth", "Digest nonce=m, algorithm=MD5, qop=auth",
        "Digest nonce=s, algorithm=SHA-256, qop=auth",
      ] { fields.append(HTTPField(name: .wwwAuthenticate, value: value)) }
      return Response(status: .unauthorized, fields: fields)
    }
    let realms = Mutex<[Authenticate.Realm]>([])
    _ = try await origin.behind(
      Authenticate { realm in
        realms.withLock { $0.append(realm) }
        return .init(user: "u", password: "p")
      }
    ).get("http://A:80/")
    #expect(origin.heads.last?.headerFields[.authorization]?.contains(#"algorithm=SHA-256, nonce="s""#) == true)
    #expect(
      realms.withLock { $0 } == [.init(origin: "http://a", host: "a", name: "", hidesPassword: true, isDigest: true)])
    let bearer = Self.origin("Bearer realm=a", accepting: "x")
    let chain = bearer.behind(Authenticate(hosts: ["a"], user: "u", password: "p"))
    #expect(try await chain.get("http://a/").status == .unauthorized)
    #expect(bearer.heads.count == 1)
  }

  @Test(
    "a password counts as hidden with Digest, which http does not reveal, and with any scheme over https",
    arguments: [
      ("Digest realm=a, nonce=n, qop=auth", "http", true), ("Digest realm=a, nonce=n, qop=auth", "https", true),
      ("Basic realm=a", "http", false), ("Basic realm=a", "https", true),
    ])
  func hidden(_ challenge: String, _ scheme: String, _ isHidden: Bool) async throws {
    let origin = TestOrigin { request in
      if request.head.headerFields[.authorization] != nil { return Response(status: .ok) }
      return Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge])
    }
    let realms = Mutex<[Authenticate.Realm]>([])
    let chain = origin.behind(
      Authenticate { realm in
        realms.withLock { $0.append(realm) }
        return .init(user: "u", password: "secret")
      })
    #expect(try await chain.get("\(scheme)://a/").status == .ok)
    #expect(realms.withLock { $0.map(\.hidesPassword) } == [isHidden])
    let field = origin.heads.last?.headerFields[.authorization] ?? ""
    #expect(field.hasPrefix(challenge.prefix { $0 != " " }) && !field.contains("secret"))
  }

  @Test("a request with its own login, for another host, or without credentials is not changed")
  func passesBy() async throws {
    let origin = Self.origin("Basic realm=a", accepting: "never")
    let chain = origin.behind(Authenticate(hosts: ["a"], user: "u", password: "p"))
    _ = try await chain.get("http://a/", [.authorization: "mine"])
    _ = try await chain.get("http://b/")
    _ = try await origin.behind(Authenticate(hosts: [], user: "u", password: "p")).get("http://a/")
    _ = try await origin.behind(Authenticate { _ in nil }).get("http://a/")
    #expect(origin.heads.count == 4)
  }

  @Test("concurrent challenges cause one request for credentials, and all requests succeed")
  func together() async throws {
    let origin = Self.origin("Basic realm=a", accepting: "Basic dTpw")
    let asked = Mutex(0)
    let asking = Mutex(0)
    let chain = origin.behind(
      Authenticate { _ in
        asked.withLock { $0 += 1 }
        let count = asking.withLock { asking in
          asking += 1
          return asking
        }
        #expect(count == 1)
        let isTogether = try await eventually { origin.heads.count == 20 }
        #expect(isTogether)
        asking.withLock { $0 -= 1 }
        return .init(user: "u", password: "p")
      })
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { try await chain.get("http://a/").status.code } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(asked.withLock { $0 } == 1)
  }

  @Test("a login is used for other paths of its realm, and a Digest password is not sent to a Basic challenge")
  func realms() async throws {
    let origin = TestOrigin { request in
      let field = request.head.headerFields[.authorization] ?? ""
      let wanted = request.head.path == "/digest/" ? "Digest realm=b, nonce=n, qop=auth" : "Basic realm=a"
      let challenge = request.head.path == "/downgrade/" ? "Basic realm=b" : wanted
      if field.hasPrefix(String(challenge.prefix { $0 != " " })) { return Response(status: .ok) }
      return Response(status: .unauthorized, fields: [.wwwAuthenticate: challenge])
    }
    let asked = Mutex<[Authenticate.Realm]>([])
    let chain = origin.behind(
      Authenticate { realm in
        asked.withLock { $0.append(realm) }
        return realm.name == "b" && !realm.hidesPassword ? nil : .init(user: "u", password: "p")
      })
    for path in ["/one/", "/two/", "/two/x", "/digest/"] {
      #expect(try await chain.get("http://a" + path).status == .ok)
    }
    #expect(asked.withLock { $0.map(\.name) } == ["a", "b"])
    #expect(try await chain.get("http://a/downgrade/").status == .unauthorized)
    #expect(
      asked.withLock { $0.last }
        == .init(origin: "http://a", host: "a", name: "b", hidesPassword: false, isDigest: false))
  }

  @Test("a deadline ends the request for credentials, and the next request asks again")
  func deadline() async throws {
    let origin = Self.origin("Basic realm=a", accepting: "Basic dTpw")
    let cancelled = Mutex(false)
    let chain = origin.behind(
      Authenticate { _ in
        if cancelled.withLock({ $0 }) { return .init(user: "u", password: "p") }
        do {
          try await untilCancelled()
        } catch {
          cancelled.withLock { $0 = true }
          throw error
        }
        return nil
      })
    let error = await #expect(throws: BywayError.self) {
      try await chain(Request(url: "http://a/", timeout: .seconds(2)))
    }
    #expect(error?.code == .timedOut)
    #expect(cancelled.withLock { $0 })
    #expect(try await chain.get("http://a/").status == .ok)
  }

  @Test("auth-int puts the body's hash into the head and sends the whole body")
  func authInt() async throws {
    let bodies = Mutex<[String]>([])
    let origin = TestOrigin { request in
      let body = String(buffer: try await request.body.collect(upTo: 100))
      guard let field = request.head.headerFields[.authorization] else {
        return Response(
          status: .unauthorized, fields: [.wwwAuthenticate: #"Digest realm="r", nonce="n", qop="auth-int""#])
      }
      bodies.withLock { $0 += [body, field] }
      return Response(status: .ok)
    }
    let authenticate = Authenticate({ _ in .init(user: "u", password: "p") }, random: { "c" })
    _ = try await origin.behind(authenticate).post("http://a/x", "content")
    let secret = DigestAlgorithm.md5.hash("u:r:p")
    let request = DigestAlgorithm.md5.hash("POST:/x:" + DigestAlgorithm.md5.hash("content"))
    let expected = DigestAlgorithm.md5.hash("\(secret):n:00000001:c:auth-int:\(request)")
    let seen = bodies.withLock { $0 }
    #expect(seen.first == "content")
    #expect(seen.last?.contains("response=\"\(expected)\"") == true)
  }

  @Test("a server that does not prove knowledge of the password is reported as untrusted")
  func impostor() async throws {
    let origin = TestOrigin { request in
      guard request.head.headerFields.contains(.authorization) else {
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Digest nonce=n, qop=auth"])
      }
      return Response(status: .ok, fields: [.authenticationInfo: #"rspauth="0123", nc=00000001, qop=auth"#])
    }
    let chain = origin.behind(Authenticate(hosts: ["a"], user: "u", password: "p"))
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(error?.code == .originUntrusted)
  }

  @Test("the server's next nonce is used (RFC 7616 §3.5)")
  func nextNonce() async throws {
    let origin = TestOrigin { request in
      guard request.head.headerFields.contains(.authorization) else {
        return Response(status: .unauthorized, fields: [.wwwAuthenticate: "Digest nonce=first, qop=auth"])
      }
      return Response(status: .ok, fields: [.authenticationInfo: #"nextnonce="second""#])
    }
    let chain = origin.behind(Authenticate(hosts: ["a"], user: "u", password: "p"))
    _ = try await chain.get("http://a/")
    _ = try await chain.get("http://a/")
    let last = try #require(origin.heads.last?.headerFields[.authorization])
    #expect(last.contains(#"nonce="second", nc=00000001"#))
  }

  @Test("no description of an object contains a password")
  func hidden() async throws {
    let credentials = Authenticate.Credentials(user: "u", password: "hunter2")
    var dumped = ""
    dump(credentials, to: &dumped)
    let texts = ["\(credentials)", String(reflecting: credentials), dumped, "\(Optional(credentials) as Any)"]
    for text in texts { #expect(!text.contains("hunter2")) }
    let colon = TestOrigin { _ in Response(status: .unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"]) }
    let chain = colon.behind(Authenticate(hosts: ["a"], user: "a:b", password: "hunter2"))
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/") }
    #expect(error?.description.contains("hunter2") == false)
    #expect(error?.description.contains("colon") == true)
  }
}
