import Byway
import BywayInterceptors
import Foundation
import HTTPTypes
import TestPeers
import TestTools
import Testing

@Suite struct LocalFilesTests {
  private let folder: TemporaryFolder
  private let origin = TestOrigin { _ in Response(status: .ok, body: Body("origin")) }
  private var chain: Next { origin.behind(LocalFiles(folder.path, under: "/files/")) }

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("0123456789", to: "ten.txt")
    try folder.write("secret", to: ".hidden")
    try folder.write("ä", to: "ä b.html")
    try FileManager.default.createDirectory(atPath: folder["sub"], withIntermediateDirectories: false)
    try folder.write("<p>", to: "sub/index.html")
    try FileManager.default.createSymbolicLink(atPath: folder["link"], withDestinationPath: "/etc/passwd")
    try FileManager.default.createSymbolicLink(atPath: folder["outside"], withDestinationPath: "/etc")
  }

  @Test("a local file is served with its type and length, also for a percent-encoded name")
  func answers() async throws {
    let response = try await chain.get("http://a/files/ten.txt?v=1")
    #expect(response.fields[.contentType] == "text/plain; charset=utf-8")
    #expect(response.fields[.contentLength] == "10")
    #expect(try await response.text == "0123456789")
    #expect(try await chain.get("http://a/files/%C3%A4%20b.html").text == "ä")
    #expect(try await chain.get("http://a/files/sub/").text == "<p>")
    let moved = try await chain.get("http://a/files/sub?x")
    #expect(moved.status == .movedPermanently)
    #expect(moved.fields[.location] == "/files/sub/?x")
  }

  @Test(
    "a path outside the folder's files is forwarded to the origin",
    arguments: [
      "/files/none", "/files/../etc/passwd", "/files/%2e%2e/%2e%2e/etc/passwd", "/files/..%2f..%2fetc%2fpasswd",
      "/files/.hidden", "/files/link", "/files/outside/passwd", "/files/ten.txt/", "/files/ten.txt/x",
      "/files/ten.txt%00",
      "/files/", "/files", "/files/%zz", "/filesystem", "/files//ten.txt",
    ])
  func goesOn(_ path: String) async throws {
    #expect(try await chain.get("http://a" + path).text == "origin")
  }

  @Test("methods other than GET and HEAD are forwarded to the origin")
  func methods() async throws {
    #expect(try await chain.post("http://a/files/ten.txt", "x").text == "origin")
    let head = try await chain(Request(.head, url: "http://a/files/ten.txt"))
    #expect(head.fields[.contentLength] == "10")
    #expect(try await head.text == "")
  }

  @Test(
    "ranges of a local file are served (RFC 9110 §14)",
    arguments: [
      ("bytes=0-3", 206, "0123", "bytes 0-3/10"), ("bytes=8-", 206, "89", "bytes 8-9/10"),
      ("bytes=-3", 206, "789", "bytes 7-9/10"), ("bytes=5-100", 206, "56789", "bytes 5-9/10"),
      ("Bytes = 9-9", 206, "9", "bytes 9-9/10"), ("bytes=-100", 206, "0123456789", "bytes 0-9/10"),
      ("bytes=10-", 416, "", "bytes */10"), ("bytes=-0", 416, "", "bytes */10"),
      ("bytes=99999999999999999999-", 416, "", "bytes */10"),
      ("bytes=4-2", 200, "0123456789", nil), ("bytes=0-1,4-5", 200, "0123456789", nil),
      ("lines=1-2", 200, "0123456789", nil), ("bytes=a-b", 200, "0123456789", nil),
      ("bytes=-", 200, "0123456789", nil),
    ] as [(String, Int, String, String?)])
  func ranges(_ range: String, _ status: Int, _ text: String, _ contentRange: String?) async throws {
    let response = try await chain.get("http://a/files/ten.txt", [.range: range])
    #expect(response.status.code == status)
    #expect(response.fields[.contentRange] == contentRange)
    #expect(try await response.text == text)
  }

  @Test("conditions on a local file are evaluated (RFC 9110 §13.2.2)")
  func conditions() async throws {
    let first = try await chain.get("http://a/files/ten.txt")
    let tag = try #require(first.fields[.eTag])
    let date = try #require(first.fields[.lastModified])
    func status(_ fields: HTTPFields) async throws -> Int {
      try await chain.get("http://a/files/ten.txt", fields).status.code
    }
    #expect(try await status([.ifNoneMatch: tag]) == 304)
    #expect(try await status([.ifNoneMatch: "\"a\", W/\(tag)"]) == 304)
    #expect(try await status([.ifNoneMatch: "*"]) == 304)
    #expect(try await status([.ifNoneMatch: "\"a,b\""]) == 200)
    #expect(try await status([.ifModifiedSince: date]) == 304)
    #expect(try await status([.ifModifiedSince: "Thu, 01 Jan 1970 00:00:00 GMT"]) == 200)
    #expect(try await status([.ifNoneMatch: "\"a\"", .ifModifiedSince: date]) == 200)
    #expect(try await status([.ifMatch: "\"a\""]) == 412)
    #expect(try await status([.ifMatch: tag]) == 200)
    #expect(try await status([.ifUnmodifiedSince: "Thu, 01 Jan 1970 00:00:00 GMT"]) == 412)
    #expect(try await status([.range: "bytes=0-1", .ifRange: tag]) == 206)
    #expect(try await status([.range: "bytes=0-1", .ifRange: "W/\(tag)"]) == 200)
    #expect(try await status([.range: "bytes=0-1", .ifRange: date]) == 206)
    #expect(try await status([.range: "bytes=0-1", .ifRange: "\"old\""]) == 200)
    try folder.write("changed", to: "ten.txt")
    #expect(try await status([.ifNoneMatch: tag]) == 200)
  }

  @Test("a missing folder of local files is an error with its path")
  func missingFolder() async throws {
    let chain = origin.behind(LocalFiles(folder["nowhere"]))
    let error = await #expect(throws: BywayError.self) { try await chain.get("http://a/x") }
    #expect(error?.message.contains("nowhere: No such file") == true)
  }
}
