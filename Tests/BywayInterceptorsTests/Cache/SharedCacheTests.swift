import Byway
import Foundation
import HTTPTypes
import TestPeers
import TestTools
import Testing
import TransportTestSupport

@testable import BywayInterceptors

/// Requirements and permissions of RFC 9111 for a shared cache.
@Suite struct SharedCacheTests {
  /// Two requests at an interval, and whether the second may be answered without the origin.
  struct Question: Sendable, CustomStringConvertible {
    let rule: String
    var asked: HTTPFields = [:]
    let answered: HTTPFields
    var status = 200
    /// The interval in seconds.
    var later = 1
    var askedAgain: HTTPFields = [:]
    let isHit: Bool

    var description: String { "\(rule): \(asked) \(status) \(answered), \(later) s later \(askedAgain)" }
  }

  private static let login: HTTPFields = [.authorization: "Basic x"]

  private static func control(_ value: String, _ more: HTTPFields = [:]) -> HTTPFields {
    var fields = more
    fields[.cacheControl] = value
    return fields
  }

  static let questions: [Question] = [
    // §3.5: responses to requests with credentials.
    Question(rule: "§3.5", asked: login, answered: control("max-age=100"), isHit: false),
    Question(rule: "§3.5", asked: login, answered: control("max-age=100"), askedAgain: login, isHit: false),
    Question(rule: "§3.5", asked: login, answered: [.expires: CacheRig.date(100)], isHit: false),
    Question(rule: "§3.5", asked: login, answered: [.lastModified: CacheRig.date(-10_000)], isHit: false),
    Question(rule: "§3.5", asked: login, answered: control("max-age=100, proxy-revalidate"), isHit: false),
    Question(rule: "§3.5", asked: login, answered: control("max-age=100, public"), isHit: true),
    Question(rule: "§3.5", asked: login, answered: control("max-age=100, must-revalidate"), isHit: true),
    Question(rule: "§3.5", asked: login, answered: control("s-maxage=100"), isHit: true),
    Question(rule: "§3.5", asked: login, answered: control("private, public, max-age=100"), isHit: false),
    Question(rule: "§3.5", answered: control("max-age=100"), askedAgain: login, isHit: true),
    // §5.2.2.7: private.
    Question(rule: "§5.2.2.7", answered: control("private, max-age=100"), isHit: false),
    Question(rule: "§5.2.2.7", answered: control("max-age=100, PRIVATE"), isHit: false),
    Question(rule: "§5.2.2.7", answered: control("private, s-maxage=100"), isHit: false),
    Question(rule: "§5.2.2.7", answered: control("private=\"\", max-age=100"), isHit: false),
    Question(rule: "§5.2.2.7", answered: control("private=\"x-a\", max-age=100"), isHit: true),
    Question(rule: "§5.2.2.7", answered: control("private=\"x-a\", private, max-age=100"), isHit: false),
    Question(rule: "§5.2.2.7", answered: control("private=\"no field\", max-age=100"), isHit: false),
    // §5.2.2.10: s-maxage.
    Question(rule: "§5.2.2.10", answered: control("s-maxage=100"), later: 99, isHit: true),
    Question(rule: "§5.2.2.10", answered: control("s-maxage=100"), later: 100, isHit: false),
    Question(rule: "§5.2.2.10", answered: control("max-age=100, s-maxage=10"), later: 10, isHit: false),
    Question(rule: "§5.2.2.10", answered: control("s-maxage=10, max-age=100"), later: 10, isHit: false),
    Question(rule: "§5.2.2.10", answered: control("max-age=1, s-maxage=100"), later: 50, isHit: true),
    Question(
      rule: "§5.2.2.10", answered: control("max-age=0, s-maxage=100", [.expires: CacheRig.date(-10)]), later: 50,
      isHit: true),
    Question(rule: "§5.2.2.10", answered: control("s-maxage=x, max-age=100"), isHit: false),
    Question(rule: "§5.2.2.10", answered: control("s-maxage=100"), status: 500, isHit: true),
    Question(
      rule: "§5.2.2.10", answered: control("s-maxage=10"), later: 11, askedAgain: control("max-stale"), isHit: false),
    // §5.2.2.8: proxy-revalidate; §5.2.2.2: must-revalidate.
    Question(
      rule: "§5.2.2.8", answered: control("max-age=10, proxy-revalidate"), later: 11,
      askedAgain: control("max-stale"), isHit: false),
    Question(
      rule: "§5.2.2.8", answered: control("max-age=10, proxy-revalidate, stale-while-revalidate=100"), later: 11,
      isHit: false),
    Question(
      rule: "§5.2.2.2", answered: control("max-age=10, must-revalidate"), later: 11, askedAgain: control("max-stale"),
      isHit: false),
    Question(rule: "§4.2.4", answered: control("max-age=10"), later: 11, askedAgain: control("max-stale"), isHit: true),
    // §5.2.2.4: no-cache.
    Question(rule: "§5.2.2.4", answered: control("no-cache, max-age=100"), isHit: false),
    Question(rule: "§5.2.2.4", answered: control("no-cache=\"x-a\", max-age=100"), isHit: true),
    Question(rule: "§5.2.2.4", answered: control("no-cache=\"x-a\", no-cache, max-age=100"), isHit: false),
    // §5.2.2.3, §5.2.2.5: must-understand, no-store.
    Question(rule: "§5.2.2.5", answered: control("no-store, s-maxage=100"), isHit: false),
    Question(rule: "§5.2.2.3", answered: control("no-store, must-understand, max-age=100"), isHit: true),
    Question(rule: "§5.2.2.3", answered: control("must-understand, max-age=100"), status: 299, isHit: false),
    // §5.2.2.9: public; §3: responses that may be stored without a directive, unless they seem to be for one user.
    Question(
      rule: "§5.2.2.9", answered: control("public", [.lastModified: CacheRig.date(-1000)]), status: 599, isHit: true),
    Question(rule: "§3", answered: [.lastModified: CacheRig.date(-1000)], isHit: true),
    Question(rule: "§3", asked: [.cookie: "a=b"], answered: [.lastModified: CacheRig.date(-1000)], isHit: false),
    Question(
      rule: "§7.3", answered: [.lastModified: CacheRig.date(-1000), .setCookie: "a=b"], isHit: false),
    Question(rule: "§7.3", answered: control("max-age=100", [.setCookie: "a=b"]), isHit: true),
    Question(rule: "§7.3", asked: [.cookie: "a=b"], answered: control("max-age=100"), isHit: true),
    // §4.1: Vary.
    Question(
      rule: "§4.1", asked: [.acceptLanguage: "de"], answered: control("max-age=100", [.vary: "accept-language"]),
      askedAgain: [.acceptLanguage: "fr"], isHit: false),
    Question(
      rule: "§4.1", asked: [.acceptLanguage: "de"], answered: control("max-age=100", [.vary: "accept-language"]),
      askedAgain: [.acceptLanguage: "de"], isHit: true),
  ]

  private static func rig(
    _ respond: @escaping @Sendable (Request) async throws -> Response
  ) throws -> CacheRig {
    try CacheRig {
      $0.kind = .shared
    } _: {
      try await respond($0)
    }
  }

  @Test("a shared cache meets the requirements of RFC 9111", arguments: questions)
  func requirement(_ question: Question) async throws {
    let rig = try Self.rig { _ in
      Response(status: .init(code: question.status), fields: question.answered, body: Body("one user's"))
    }
    _ = try await rig.get("/", question.asked)
    rig.advance(question.later)
    #expect(try await rig.get("/", question.askedAgain).isHit == question.isHit)
  }

  @Test("a page behind a login is not served to other users, even while the origin is down")
  func outage() async throws {
    let counter = Counter()
    let rig = try Self.rig { request in
      guard counter.next == 1 else { throw BywayError(.linkUnavailable, "The link is down.", processing: .none) }
      return Response(status: .ok, fields: [.cacheControl: "max-age=10"], body: Body("Alice's page"))
    }
    _ = try await rig.get("/", Self.login)
    for fields in [[:], [.authorization: "Basic wrong"], [.cacheControl: "only-if-cached"]] as [HTTPFields] {
      let text = (try? await rig.get("/", fields))?.text
      #expect(text?.contains("Alice") != true)
    }
  }

  @Test("fields listed in private and no-cache are not stored, including those of a 304", arguments: [1, 20])
  func named(_ later: Int) async throws {
    let rig = try Self.rig { request in
      if request.head.headerFields.contains(.ifNoneMatch) {
        return Response(
          status: .notModified,
          fields: [.cacheControl: "private=\"x-a\", no-cache=\"x-b, x-c\", max-age=10", .init("x-b")!: "new"])
      }
      let control = later == 1 ? "private=\"x-a\", no-cache=\"X-B, x-c\", max-age=10" : "max-age=10"
      return Response(
        status: .ok,
        fields: [
          .cacheControl: control, .eTag: "\"v\"", .init("x-a")!: "Alice", .init("x-b")!: "b", .init("x-c")!: "c",
          .init("x-d")!: "d",
        ], body: Body("page"))
    }
    let first = try await rig.get()
    #expect(first.fields[.init("x-a")!] == "Alice")
    rig.advance(later)
    let hit = try await rig.get()
    #expect(hit.text == "page")
    #expect(["x-a", "x-b", "x-c", "x-d"].map { hit.fields[.init($0)!] } == [nil, nil, nil, "d"])
  }

  @Test("a response that a 304 makes private is not served to the next user")
  func madePrivate() async throws {
    let rig = try Self.rig { request in
      request.head.headerFields.contains(.ifNoneMatch)
        ? Response(status: .notModified, fields: [.cacheControl: "private, max-age=100"])
        : Response(status: .ok, fields: [.cacheControl: "max-age=10", .eTag: "\"v\""], body: Body("page"))
    }
    _ = try await rig.get()
    rig.advance(20)
    #expect(try await rig.get().text == "page")
    #expect(rig.cache.size == 0)
    #expect(try await rig.get().isHit == false)
  }

  @Test("a shared cache does not serve what a private cache left in its folder")
  func folder() async throws {
    let folder = try TemporaryFolder()
    func rig(_ kind: CacheKind) throws -> CacheRig {
      try CacheRig(folder: folder["cache"]) {
        $0.kind = kind
      } _: { _ in
        Response(status: .ok, fields: [.cacheControl: "private, max-age=1000"], body: Body("Alice's page"))
      }
    }
    func hits(_ kind: CacheKind) async throws -> [Bool] {
      var opened: CacheRig?
      // The previous cache may still be releasing the folder.
      _ = try await eventually {
        opened = opened ?? (try? rig(kind))
        return opened != nil
      }
      let rig = try #require(opened)
      return [try await rig.get().isHit, try await rig.get().isHit]
    }
    #expect(try await hits(.private) == [false, true])
    #expect(try await hits(.shared) == [false, false])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["cache"]) == ["lock"])
  }
}
