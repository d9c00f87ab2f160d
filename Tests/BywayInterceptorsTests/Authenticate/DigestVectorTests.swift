import Testing

@testable import BywayInterceptors

/// The examples of RFC 7616 §3.9, and of RFC 2069 with its erratum.
@Suite struct DigestVectorTests {
  private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
  private static let ownNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

  private func session(_ text: String) throws -> DigestSession {
    try #require(Challenge.all(in: [text]).first.flatMap { DigestSession($0) })
  }

  private func response(in field: String) -> String? {
    field.split(separator: ", ").first { $0.hasPrefix("response=") || $0.hasPrefix("Digest response=") }
      .map { String($0.split(separator: "\"")[1]) }
  }

  @Test(
    "Digest responses match the examples of the RFC",
    arguments: [
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
  func answers(_ algorithm: String, _ expected: String) throws {
    var session = try session(
      """
      Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), nonce="\(Self.nonce)", \
      opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
      """)
    let (field, _) = session.authorization(
      for: .init(user: "Mufasa", password: "Circle of Life"), method: "GET", target: "/dir/index.html", quality: .auth,
      bodyHash: nil, ownNonce: Self.ownNonce)
    #expect(
      field == """
        Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=\(algorithm), \
        nonce="\(Self.nonce)", nc=00000001, cnonce="\(Self.ownNonce)", qop=auth, response="\(expected)", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """)
  }

  @Test("Digest without qop matches RFC 2069 §2.4")
  func legacy() throws {
    var session = try session(
      #"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f017""#
    )
    #expect(session.quality == nil)
    let (field, proof) = session.authorization(
      for: .init(user: "Mufasa", password: "CircleOfLife"), method: "GET", target: "/dir/index.html", quality: nil,
      bodyHash: nil, ownNonce: "x")
    #expect(response(in: field) == "1949323746fe6a43ef61f9606e7febea")
    #expect(proof == nil)
  }

  @Test("the nonce count rises with each request, and the session key stays for its nonce")
  func counts() throws {
    var session = try session(#"Digest realm="r", nonce="n", algorithm=MD5-sess, qop=auth"#)
    func next(_ own: String) -> String {
      session.authorization(
        for: .init(user: "u", password: "p"), method: "GET", target: "/", quality: .auth, bodyHash: nil, ownNonce: own
      ).field
    }
    // A1 = MD5(MD5("u:r:p") ":n:one") in both, computed with python's hashlib.
    let (first, second) = (next("one"), next("two"))
    #expect(first.contains("nc=00000001, cnonce=\"one\""))
    #expect(second.contains("nc=00000002, cnonce=\"two\""))
    #expect(response(in: first) == "c1af60594cf9bd395d48750b26dee927")
    #expect(response(in: second) == "ec1bb947f8f703cb7cf4e5a7b2040bd9")
  }

  @Test("a user name beyond ASCII is escaped or hashed (RFC 7616 §3.4)")
  func names() throws {
    var plain = try session(#"Digest realm="r", nonce="n", qop=auth"#)
    let user = Authenticate.Credentials(user: "Jäsøn Doe", password: "p")
    let field = plain.authorization(
      for: user, method: "GET", target: "/", quality: .auth, bodyHash: nil, ownNonce: "c"
    ).field
    #expect(field.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, "))
    var hashed = try session(#"Digest realm="r", nonce="n", qop=auth, userhash=true, algorithm=SHA-256"#)
    let other = hashed.authorization(
      for: user, method: "GET", target: "/", quality: .auth, bodyHash: nil, ownNonce: "c"
    ).field
    #expect(other.contains("userhash=true"))
    #expect(!other.contains("Doe"))
  }

  @Test("an unsupported Digest challenge is not answered")
  func unknown() throws {
    for text in [
      "Digest realm=x, nonce=n, algorithm=SHA-512-256", "Digest realm=x", "Digest nonce=n, qop=other", "Basic realm=x",
    ] {
      #expect(Challenge.all(in: [text]).first.flatMap { DigestSession($0) } == nil)
    }
    let session = try session("Digest nonce=n, qop=\"auth-int\"")
    #expect(session.quality == .authInt)
  }
}
