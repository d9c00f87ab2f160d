import Byway
import HTTPTypes
import Testing

@testable import BywayInterceptors

/// RFC 9111 §4.1, §4.3: Vary and validation.
@Suite struct CacheValidationTests {
  /// Returns a rig whose origin has one resource, tagged with its version, and evaluates conditions.
  private static func rig(
    _ fields: HTTPFields = [.cacheControl: "max-age=10"], version: @escaping @Sendable () -> String
  )
    throws -> CacheRig
  {
    try CacheRig { request in
      var fields = fields
      fields[.eTag] = "\"\(version())\""
      if request.head.headerFields[.ifNoneMatch] == fields[.eTag] {
        return Response(status: .notModified, fields: fields)
      }
      return Response(status: .ok, fields: fields, body: Body("version \(version())"))
    }
  }

  @Test("a 304 makes the stored response fresh again and updates its fields (§4.3.4)")
  func confirmed() async throws {
    let counter = Counter()
    let rig = try CacheRig { request in
      let fields: HTTPFields = [.cacheControl: "max-age=10", .eTag: "\"v\"", .init("x-count")!: "\(counter.next)"]
      let isKnown = request.head.headerFields[.ifNoneMatch] == "\"v\""
      return isKnown
        ? Response(status: .notModified, fields: fields)
        : Response(status: .ok, fields: fields + [.contentType: "text/plain"], body: Body("content"))
    }
    _ = try await rig.get()
    rig.advance(20)
    let confirmed = try await rig.get()
    #expect(confirmed.status == 200)
    #expect(confirmed.text == "content")
    #expect(confirmed.cacheStatus == "byway; fwd=stale; fwd-status=304; ttl=10")
    #expect(confirmed.fields[.init("x-count")!] == "2")
    #expect(confirmed.fields[.contentType] == "text/plain")
    #expect(confirmed.fields[.contentLength] == "7")
    #expect(confirmed.age == 0)
    rig.advance(9)
    #expect(try await rig.get().isHit)
    #expect(rig.origin.heads.map { $0.headerFields[.ifNoneMatch] } == [nil, "\"v\""])
  }

  @Test("a 304 resets the age that the stored response had on arrival (§4.2.3, §4.3.4)")
  func rejuvenated() async throws {
    let rig = try CacheRig { request in
      let fields: HTTPFields = [.cacheControl: "max-age=10", .eTag: "\"v\""]
      // The first response had spent 8 s in another cache.
      return request.head.headerFields.contains(.ifNoneMatch)
        ? Response(status: .notModified, fields: fields)
        : Response(status: .ok, fields: fields + [.age: "8"], body: Body("content"))
    }
    #expect(try await rig.get().age == 8)
    rig.advance(3)
    let confirmed = try await rig.get()
    #expect(confirmed.cacheStatus == "byway; fwd=stale; fwd-status=304; ttl=10")
    #expect(confirmed.age == 0)
    rig.advance(9)
    #expect(try await rig.get().isHit)
    #expect(rig.count == 2)
  }

  @Test("a new version replaces the stored response")
  func changed() async throws {
    let counter = Counter()
    let rig = try Self.rig { "\(counter.next / 3)" }
    #expect(try await rig.get().text == "version 0")
    rig.advance(20)
    let text = try await rig.get().text
    #expect(text != "version 0")
    #expect(try await rig.get().text == text)
  }

  @Test("validation uses Last-Modified if there is no ETag (§4.3.1)")
  func lastModified() async throws {
    let date = CacheRig.date(-1000)
    let rig = try CacheRig { request in
      let isKnown = request.head.headerFields[.ifModifiedSince] == date
      return Response(
        status: isKnown ? .notModified : .ok, fields: [.cacheControl: "max-age=10", .lastModified: date],
        body: Body(isKnown ? "" : "content"))
    }
    _ = try await rig.get()
    rig.advance(20)
    #expect(try await rig.get().text == "content")
    #expect(rig.origin.heads.last?.headerFields[.ifModifiedSince] == date)
  }

  @Test("no-cache requires validation each time, and a 304 saves the body (§5.2.2.4)")
  func noCache() async throws {
    let rig = try Self.rig([.cacheControl: "no-cache, max-age=10"]) { "1" }
    _ = try await rig.get()
    let second = try await rig.get()
    #expect(second.text == "version 1")
    #expect(second.cacheStatus.contains("fwd-status=304"))
  }

  @Test("a 304 with another ETag is not used, and the request is repeated without conditions")
  func foreign() async throws {
    let rig = try CacheRig { request in
      if request.head.headerFields.contains(.ifNoneMatch) {
        return Response(status: .notModified, fields: [.eTag: "\"other\""])
      }
      return Response(status: .ok, fields: [.cacheControl: "max-age=10", .eTag: "\"mine\""], body: Body("content"))
    }
    _ = try await rig.get()
    rig.advance(20)
    #expect(try await rig.get().text == "content")
    #expect(rig.count == 3)
  }

  @Test("a conditional request is answered from the stored response (§4.3.2)")
  func conditions() async throws {
    let rig = try Self.rig { "1" }
    _ = try await rig.get()
    let answer = try await rig.get("/", [.ifNoneMatch: "\"0\", W/\"1\""])
    #expect(answer.status == 304)
    #expect(answer.text == "")
    #expect(answer.fields[.eTag] == "\"1\"")
    #expect(try await rig.get("/", [.ifNoneMatch: "\"0\""]).status == 200)
    #expect(try await rig.get("/", [.ifModifiedSince: CacheRig.date(100)]).status == 304)
    #expect(rig.count == 1)
    // The same after a validation with the cache's own conditions.
    rig.advance(20)
    #expect(try await rig.get("/", [.ifNoneMatch: "\"0\", \"1\""]).status == 304)
    #expect(rig.origin.heads.last?.headerFields[.ifNoneMatch] == "\"1\"")
  }

  @Test("a request with If-Match goes to the origin unchanged")
  func ifMatch() async throws {
    let rig = try Self.rig { "1" }
    _ = try await rig.get()
    _ = try await rig.get("/", [.ifMatch: "\"1\""])
    #expect(rig.count == 2)
    #expect(rig.origin.heads.last?.headerFields == [.ifMatch: "\"1\""])
  }

  // MARK: Vary

  @Test("a response with Vary is served to requests with equivalent fields (§4.1)")
  func vary() async throws {
    let rig = try CacheRig { request in
      let language = request.head.headerFields[.acceptLanguage] ?? "none"
      return Response(
        status: .ok, fields: [.cacheControl: "max-age=10", .vary: "Accept-Language, X-Other"], body: Body(language))
    }
    #expect(try await rig.get("/", [.acceptLanguage: "de, en"]).text == "de, en")
    #expect(try await rig.get("/", [.acceptLanguage: "en"]).text == "en")
    #expect(try await rig.get("/").text == "none")
    #expect(rig.count == 3)
    let same = try await rig.get("/", [.acceptLanguage: " de ,en"])
    #expect(same.isHit)
    #expect(same.text == "de, en")
    #expect(try await rig.get("/", [.acceptLanguage: "en"]).text == "en")
    #expect(try await rig.get("/", [.acceptLanguage: "en", .init("x-other")!: "1"]).isHit == false)
    #expect(rig.count == 4)
  }

  // MARK: Ranges and HEAD

  @Test("a range of a complete stored response is served without the origin (RFC 9110 §14)")
  func ranges() async throws {
    let rig = try Self.rig { "1" }
    _ = try await rig.get()
    let part = try await rig.get("/", [.range: "bytes=2-4"])
    #expect(part.status == 206)
    #expect(part.text == "rsi")
    #expect(part.fields[.contentRange] == "bytes 2-4/9")
    #expect(part.fields[.contentLength] == "3")
    #expect(try await rig.get("/", [.range: "bytes=20-"]).status == 416)
    #expect(try await rig.get("/", [.range: "bytes=0-1", .ifRange: "\"1\""]).status == 206)
    #expect(try await rig.get("/", [.range: "bytes=0-1", .ifRange: "\"0\""]).status == 200)
    #expect(rig.count == 1)
    rig.advance(20)
    #expect(try await rig.get("/", [.range: "bytes=0-1"]).text == "ve")
    #expect(rig.count == 2)
  }

  @Test("a validation drops Range and If-Range, so that no range of another version is returned")
  func ifRange() async throws {
    let rig = try Self.rig { "1" }
    _ = try await rig.get()
    rig.advance(20)
    _ = try await rig.get("/", [.range: "bytes=0-1", .ifRange: "\"0\""])
    let asked = try #require(rig.origin.heads.last?.headerFields)
    #expect(asked == [.ifNoneMatch: "\"1\""])
  }

  @Test("HEAD is answered from a stored GET, and a HEAD response updates or invalidates it (§4.3.5)")
  func head() async throws {
    let counter = Counter()
    let rig = try CacheRig { request in
      let version = request.head.headerFields[.cookie] ?? "1"
      return Response(
        status: .ok,
        fields: [.cacheControl: "max-age=10", .eTag: "\"\(version)\"", .init("x-count")!: "\(counter.next)"],
        body: Body("content"))
    }
    _ = try await rig.get()
    let hit = try await rig.send(.head)
    #expect(hit.isHit)
    #expect(hit.text == "")
    #expect(hit.fields[.contentLength] == "7")
    rig.advance(20)
    #expect(try await rig.send(.head).isHit == false)
    let updated = try await rig.get()
    #expect(updated.isHit)
    #expect(updated.fields[.init("x-count")!] == "2")
    #expect(updated.text == "content")
    rig.advance(20)
    _ = try await rig.send(.head, "/", [.cookie: "2"])
    #expect(try await rig.get().isHit == false)
  }
}

extension HTTPFields {
  static func + (left: HTTPFields, right: HTTPFields) -> HTTPFields {
    var result = left
    for field in right { result.append(field) }
    return result
  }
}
