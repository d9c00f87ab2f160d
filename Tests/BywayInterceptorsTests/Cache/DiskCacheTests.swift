import Byway
import BywayPrimitives
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayInterceptors

@Suite struct DiskCacheTests {
  private let folder: TemporaryFolder
  private var path: String { folder["cache"] }

  init() throws {
    folder = try TemporaryFolder()
  }

  private func rig(limit: Int = 1 << 20) throws -> CacheRig {
    try CacheRig(folder: path) {
      $0.limit = limit
    } _: { request in
      if request.head.headerFields[.ifNoneMatch] == "\"v\"" {
        return Response(status: .notModified, fields: [.server: "updated"])
      }
      return Response(
        status: .ok, fields: [.cacheControl: "max-age=1000", .eTag: "\"v\"", .vary: "accept"],
        body: Body("content of \(request.head.path ?? "") " + String(repeating: "x", count: 1000)))
    }
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
  }

  @Test("stored responses survive a restart, with the changes of a 304")
  func restart() async throws {
    do {
      let rig = try rig()
      _ = try await rig.get("/a", [.accept: "x"])
      _ = try await rig.get("/b")
      rig.advance(2000)
      _ = try await rig.get("/b")
    }
    let rig = try rig()
    rig.advance(2000)
    let hit = try await rig.get("/b")
    #expect(hit.isHit)
    #expect(hit.text.hasPrefix("content of /b x"))
    #expect(hit.fields[.server] == "updated")
    #expect(try await rig.get("/a", [.accept: "y", .cacheControl: "max-stale"]).isHit == false)
    #expect(try await rig.get("/a", [.accept: "x", .cacheControl: "max-stale"]).isHit)
  }

  @Test("a response is stored even if its reader is cancelled after the last byte")
  func gone() async throws {
    let rig = try rig()
    let chain = rig.chain
    let caller = Task {
      var chunks = try await chain(Request(.get, url: "http://a/a")).body.makeAsyncIterator()
      _ = try await chunks.next()
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try? await chunks.next()
    }
    try await caller.value
    #expect(try files.filter { $0.hasSuffix(".head") }.count == 1)
    #expect(try await rig.get("/a").isHit)
  }

  @Test("a response is in the cache as soon as its reader has the last byte")
  func lastByte() async throws {
    let rig = try rig()
    var body = try await rig.chain(Request(.get, url: "http://a/a")).body.makeAsyncIterator()
    let chunk = try #require(try await body.next())
    let again = try await rig.get("/a")
    #expect(again.isHit)
    #expect(again.text == String(buffer: chunk))
    #expect(try await body.next() == nil)
  }

  @Test("twelve clients that refresh three URLs get every response, and leave no other files on disk")
  func replacements() async throws {
    let log = LogRecord()
    let rig = try CacheRig(folder: path) {
      $0.logger = log.logger
    } _: { request in
      Response(status: .ok, fields: [.cacheControl: "max-age=1000"], body: Body(String(repeating: "x", count: 4000)))
    }
    try await withThrowingTaskGroup { group in
      for client in 0..<12 {
        group.addTask {
          for round in 0..<20 { _ = try await rig.get("/\((client + round) % 3)", [.cacheControl: "no-cache"]) }
        }
      }
      try await group.waitForAll()
    }
    #expect(log.messages.isEmpty, "\(log.messages.count): \(log.messages.first ?? "")")
    let kinds = try files.map { $0.split(separator: ".").last ?? "" }.sorted()
    #expect(kinds == ["body", "body", "body", "head", "head", "head", "lock"])
    for path in ["/0", "/1", "/2"] { #expect(try await rig.get(path).isHit) }
  }

  @Test("only its owner can access the cache folder")
  func permissions() async throws {
    let rig = try rig()
    _ = try await rig.get("/a")
    for name in ["", "/lock"] + (try files).map({ "/" + $0 }) {
      let mode = try FileManager.default.attributesOfItem(atPath: path + name)[.posixPermissions] as? Int
      #expect(mode.map { $0 & 0o077 } == 0, "\(name)")
    }
  }

  @Test("two processes cannot share a cache folder")
  func exclusive() throws {
    let first = try rig()
    let error = #expect(throws: BywayError.self) { try rig() }
    #expect(error?.message.contains("in use") == true)
    withExtendedLifetime(first) {}
  }

  @Test("a forked child that has not yet called exec does not keep the cache folder locked")
  func fork() async throws {
    // Like a fork: a copy of each descriptor exists until the child calls exec.
    var copies: [CInt] = []
    defer { for copy in copies { close(copy) } }
    do {
      let rig = try rig()
      _ = try await rig.get("/a")
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path + "/lock"
      }
      copies = open.compactMap { CInt($0) }.map { dup($0) }
    }
    #expect(copies.count == 1)
    #expect(try await rig().get("/a").isHit)
  }

  @Test("after a crash at any moment, complete responses remain and partial ones are removed")
  func crash() async throws {
    do {
      let rig = try rig()
      for name in ["/a", "/b", "/c", "/d", "/e"] { _ = try await rig.get(name) }
    }
    let heads = try files.filter { $0.hasSuffix(".head") }
    #expect(heads.count == 5)
    func change(_ name: String, _ change: (inout Data) -> Void) throws {
      let url = URL(filePath: path + "/" + name)
      var data = try Data(contentsOf: url)
      change(&data)
      try data.write(to: url)
    }
    let body = { (head: String) in head.replacing(".head", with: ".body") }
    // File numbers follow the order of arrival: /a has the first.
    try change(heads[0]) { $0.removeLast(5) }
    try change(heads[1]) { $0[20] ^= 1 }
    try change(body(heads[2])) { $0.removeLast() }
    try FileManager.default.removeItem(atPath: path + "/" + body(heads[3]))
    try Data("half".utf8).write(to: URL(filePath: path + "/00000000000000ff.body"))
    try Data("half".utf8).write(to: URL(filePath: path + "/00000000000000fe.new"))
    try Data("mine".utf8).write(to: URL(filePath: path + "/notes.txt"))

    let rig = try rig()
    #expect(try files == [body(heads[4]), heads[4], "lock", "notes.txt"])
    for name in ["/a", "/b", "/c", "/d"] { #expect(try await rig.get(name).isHit == false) }
    #expect(try await rig.get("/e").isHit)
  }

  @Test("the cache keeps to its size limit on disk, also to a reduced one")
  func limit() async throws {
    func bytes() throws -> Int {
      try files.reduce(0) { sum, name in
        sum + (try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.size] as? Int ?? 0)
      }
    }
    do {
      let rig = try rig(limit: 50_000)
      for index in 0..<100 { _ = try await rig.get("/\(index)") }
      #expect(try bytes() <= 50_000)
      #expect(rig.cache.size <= 50_000)
      #expect(try await rig.get("/99").isHit)
    }
    let rig = try rig(limit: 10_000)
    _ = try await rig.get("/new")
    #expect(rig.cache.size <= 10_000)
    #expect(try bytes() <= 10_000)
  }

  @Test("a lost body file causes another request, and no error")
  func vanished() async throws {
    let rig = try rig()
    _ = try await rig.get("/a")
    for name in try files where name.hasSuffix(".body") {
      try FileManager.default.removeItem(atPath: path + "/" + name)
    }
    #expect(try await rig.get("/a").text.hasPrefix("content of /a"))
    #expect(try await rig.get("/a").isHit)
    #expect(rig.count == 2)
  }

  @Test("an unwritable disk loses the stored response, not the exchange")
  func unwritable() async throws {
    let rig = try rig()
    try FileManager.default.removeItem(atPath: path)
    #expect(try await rig.get("/a").text.hasPrefix("content of /a"))
    #expect(try await rig.get("/a").isHit == false)
  }

  @Test("a cache folder that cannot be created is an error with its path")
  func noFolder() throws {
    let error = #expect(throws: BywayError.self) { try Cache(folder: folder["none/cache"]) }
    #expect(error?.message.contains("Cannot use \(folder["none/cache"]): \(folder["none"]): No such file") == true)
  }

  @Test("a stored head is read back unchanged, and damaged bytes are rejected")
  func encoding() throws {
    let response = StoredResponse(
      id: 7, key: "http://a/ä", status: 404, fields: [.contentType: "x", .setCookie: "a", .vary: "accept"],
      selecting: ["accept": nil, "x": "y"], requested: CacheRig.start, received: CacheRig.start + .milliseconds(1500),
      length: 12)
    let bytes = response.encoded(in: .private)
    #expect(StoredResponse(encoded: bytes, in: .private) == response)
    #expect(StoredResponse(encoded: bytes, in: .shared) == nil)
    for index in 0..<bytes.readableBytes {
      var damaged = bytes
      damaged.setInteger(damaged.getInteger(at: index, as: UInt8.self)! ^ 0x40, at: index)
      #expect(StoredResponse(encoded: damaged, in: .private) == nil)
      #expect(StoredResponse(encoded: bytes.getSlice(at: 0, length: index)!, in: .private) == nil)
    }
  }
}
