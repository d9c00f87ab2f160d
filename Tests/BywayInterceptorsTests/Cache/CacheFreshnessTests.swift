import Byway
import HTTPTypes
import Testing

@testable import BywayInterceptors

/// RFC 9111 §3, §4.2 and §5.2: storing and freshness.
@Suite struct CacheFreshnessTests {
  /// Returns a rig whose origin responds "1", "2" and so on with these fields.
  static func rig(_ fields: HTTPFields, status: Int = 200) throws -> CacheRig {
    let counter = Counter()
    return try CacheRig { _ in Response(status: .init(code: status), fields: fields, body: Body("\(counter.next)")) }
  }

  @Test("a fresh response is served with its age, and a stale one is requested again (§4.2)")
  func fresh() async throws {
    let rig = try Self.rig([.cacheControl: "max-age=10"])
    #expect(try await rig.get().text == "1")
    rig.advance(9)
    let hit = try await rig.get()
    #expect(hit.text == "1")
    #expect(hit.age == 9)
    #expect(hit.cacheStatus == "byway; hit; ttl=1")
    rig.advance(1)
    #expect(try await rig.get().text == "2")
    #expect(rig.count == 2)
  }

  @Test(
    "the freshness lifetime is exact to the second (§4.2.1, §4.2.2)",
    arguments: [
      ([.cacheControl: "max-age=100"], 100), ([.cacheControl: "MAX-AGE=\"100\""], 100),
      ([.cacheControl: "s-maxage=5, max-age=100"], 100), ([.cacheControl: "max-age=100, max-age=50"], 50),
      ([.expires: CacheRig.date(100)], 100), ([.expires: CacheRig.date(100), .cacheControl: "max-age=30"], 30),
      ([.expires: CacheRig.date(200), .cacheControl: "max-age=300"], 300),
      ([.lastModified: CacheRig.date(-1000)], 100), ([.lastModified: CacheRig.date(-100_000_000)], 86_400),
      ([.cacheControl: "max-age=100", .age: "40"], 60), ([.cacheControl: "max-age=100", .age: "x"], 100),
      ([.cacheControl: "max-age=100", .date: CacheRig.date(-40)], 60),
      ([.cacheControl: "max-age=100", .date: CacheRig.date(40)], 100),
      ([.cacheControl: "private, max-age=100"], 100), ([.cacheControl: "extension=\"a, max-age=5\", max-age=100"], 100),
    ] as [(HTTPFields, Int)])
  func lifetime(_ fields: HTTPFields, _ seconds: Int) async throws {
    let rig = try Self.rig(fields)
    _ = try await rig.get()
    rig.advance(seconds - 1)
    #expect(try await rig.get().isHit)
    rig.advance(1)
    #expect(try await rig.get().isHit == false)
  }

  @Test(
    "a response without a valid lifetime is requested each time",
    arguments: [
      [:], [.cacheControl: "max-age=0"], [.cacheControl: "max-age=abc"], [.cacheControl: "max-age=-5"],
      [.cacheControl: "max-age"], [.expires: "0"], [.expires: "never"], [.expires: CacheRig.date(-1)],
      [.cacheControl: "no-cache, max-age=100"], [.cacheControl: "no-cache=\"\", max-age=100"],
      [.lastModified: CacheRig.date(10)],
    ] as [HTTPFields])
  func stale(_ fields: HTTPFields) async throws {
    let rig = try Self.rig(fields)
    _ = try await rig.get()
    #expect(try await rig.get().isHit == false)
  }

  @Test(
    "a response that must not be stored is requested again (§3)",
    arguments: [
      (200, [.cacheControl: "no-store, max-age=100"]), (200, [.cacheControl: "max-age=100", .vary: "*"]),
      (206, [.cacheControl: "max-age=100", .contentRange: "bytes 0-0/2"]), (302, [.lastModified: CacheRig.date(-1000)]),
      (500, [.lastModified: CacheRig.date(-1000)]), (299, [.cacheControl: "max-age=100, must-understand"]),
    ] as [(Int, HTTPFields)])
  func notStored(_ status: Int, _ fields: HTTPFields) async throws {
    let rig = try Self.rig(fields, status: status)
    _ = try await rig.get()
    #expect(rig.cache.size == 0)
    #expect(try await rig.get().isHit == false)
  }

  @Test(
    "a response of any status is stored if its fields or its status allow it",
    arguments: [
      (404, [.cacheControl: "max-age=100"]), (302, [.cacheControl: "max-age=100"]),
      (299, [.cacheControl: "max-age=100"]),
      (301, [.lastModified: CacheRig.date(-1000)]), (410, [.lastModified: CacheRig.date(-1000)]),
      (204, [.cacheControl: "max-age=100"]), (200, [.cacheControl: "no-store, must-understand, max-age=100"]),
    ] as [(Int, HTTPFields)])
  func stored(_ status: Int, _ fields: HTTPFields) async throws {
    let rig = try Self.rig(fields, status: status)
    _ = try await rig.get()
    let hit = try await rig.get()
    #expect(hit.isHit)
    #expect(hit.status == status)
  }

  @Test("the private cache serves requests with credentials")
  func credentials() async throws {
    let rig = try Self.rig([.cacheControl: "private, max-age=100"])
    _ = try await rig.get("/", [.authorization: "Basic x"])
    #expect(try await rig.get("/", [.authorization: "Basic x"]).isHit)
  }

  @Test(
    "directives of a request apply 10 s after a response that is fresh for 100 s (§5.2.1)",
    arguments: [
      ("max-age=10", true), ("max-age=9", false), ("min-fresh=90", true), ("min-fresh=91", false), ("no-cache", false),
      ("only-if-cached", true), ("max-stale", true), ("no-store", true),
    ])
  func directives(_ directive: String, _ isHit: Bool) async throws {
    let rig = try Self.rig([.cacheControl: "max-age=100"])
    _ = try await rig.get()
    rig.advance(10)
    #expect(try await rig.get("/", [.cacheControl: directive]).isHit == isHit)
  }

  @Test(
    "a response that is stale for 10 s is served if the request allows it and the response does not forbid it",
    arguments: [
      ("max-stale", "max-age=100", true), ("max-stale=10", "max-age=100", true), ("max-stale=9", "max-age=100", false),
      ("max-stale", "max-age=100, must-revalidate", false), ("max-stale, max-age=50", "max-age=100", false),
      ("max-stale", "max-age=100, proxy-revalidate", true),
    ])
  func maxStale(_ wanted: String, _ control: String, _ isHit: Bool) async throws {
    let rig = try Self.rig([.cacheControl: control])
    _ = try await rig.get()
    rig.advance(110)
    #expect(try await rig.get("/", [.cacheControl: wanted]).isHit == isHit)
  }

  @Test("no-store in a request keeps its response out, and Pragma counts if there is no Cache-Control")
  func requestNoStore() async throws {
    let rig = try Self.rig([.cacheControl: "max-age=100"])
    _ = try await rig.get("/", [.cacheControl: "no-store"])
    #expect(rig.cache.size == 0)
    _ = try await rig.get()
    #expect(try await rig.get("/", [.pragma: "no-cache"]).isHit == false)
    #expect(try await rig.get("/", [.pragma: "no-cache", .cacheControl: "max-age=5"]).isHit)
  }

  @Test("only-if-cached without a stored response results in 504, without contacting the origin (§5.2.1.7)")
  func onlyIfCached() async throws {
    let rig = try Self.rig([.cacheControl: "max-age=1"])
    #expect(try await rig.get("/", [.cacheControl: "only-if-cached"]).status == 504)
    _ = try await rig.get()
    rig.advance(5)
    #expect(try await rig.get("/", [.cacheControl: "only-if-cached"]).status == 504)
    #expect(rig.count == 1)
  }

  @Test("equivalent spellings of a URL share a stored response, and different queries do not")
  func keys() async throws {
    let rig = try Self.rig([.cacheControl: "max-age=100"])
    _ = try await rig.get("/a/../x?q")
    #expect(try await rig.chain.get("HTTP://A:80/x?q").text == "1")
    #expect(try await rig.get("/x").text == "2")
  }

  @Test("hop-by-hop fields are not stored (§3.1), and other fields are served unchanged")
  func fields() async throws {
    let rig = try Self.rig([
      .cacheControl: "max-age=100", .connection: "x-hop", .init("x-hop")!: "1", .proxyAuthenticate: "Basic realm=p",
      .setCookie: "a=b", .init("x-kept")!: "1",
    ])
    _ = try await rig.get()
    let names = Set(try await rig.get().fields.map(\.name.canonicalName))
    #expect(names == ["cache-control", "set-cookie", "x-kept", "date", "content-length", "age", "cache-status"])
  }
}
