import Testing

@testable import BywayInterceptors

@Suite struct ChallengeTests {
  @Test("several challenges are parsed from one field and from several (RFC 9110 §11.6.1)")
  func several() {
    let challenges = Challenge.all(in: [
      #"Newauth realm="apps", type=1 , title="Login to \"apps\", now", Basic realm="simple""#, "Negotiate",
      "Bearer, Digest nonce=abc==,realm=\"a\"",
    ])
    #expect(challenges.map(\.scheme) == ["newauth", "basic", "negotiate", "bearer", "digest"])
    #expect(challenges[0].parameters == ["realm": "apps", "type": "1", "title": #"Login to "apps", now"#])
    #expect(challenges[1].parameters == ["realm": "simple"])
    #expect(challenges[4].parameters == ["nonce": "abc==", "realm": "a"])
  }

  @Test("the first of a repeated parameter counts, and malformed challenges are ignored")
  func hostile() {
    #expect(Challenge.all(in: ["Basic realm=\"a\", realm=\"b\""]).first?["realm"] == "a")
    for text in ["", ",", "=", "\"", "Basic realm=\"", "realm=\"x\"", "Basic =", "Digest nonce", "\u{0}"] {
      _ = Challenge.all(in: [text])
    }
    #expect(Challenge.all(in: ["realm=\"x\""]) == [])
    #expect(Challenge.all(in: ["Basic realm = \"x\""]).first?["realm"] == "x")
  }
}
