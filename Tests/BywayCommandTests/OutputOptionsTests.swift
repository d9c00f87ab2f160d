import ArgumentParser
import Byway
import BywayTerminal
import Glibc
import HTTPTypes
import NIOCore
import TestTools
import Testing

@testable import BywayCommand

@Suite("Output options") struct OutputOptionsTests {
  private func path(_ url: String, _ arguments: String...) throws -> String? {
    try OutputOptions.parse(arguments).path(for: Request(url: url))
  }

  @Test(
    "-O names the file after the last part of the URL's path",
    arguments: [
      ("http://a/b/c.bin", "./c.bin"), ("http://a/c?x=/d", "./c"), ("http://a/-o", "./-o"), ("http://a/%2F", "./%2F"),
    ])
  func remoteName(_ url: String, _ name: String) throws {
    #expect(try path(url, "-O") == name)
  }

  @Test(
    "-O is refused if the URL's path has no last part",
    arguments: ["http://a", "http://a/", "http://a/b/", "http://a/..", "http://a/?b"])
  func noName(_ url: String) {
    #expect(throws: CommandFailure.self) { try path(url, "-O") }
  }

  @Test(
    "contradictory output options are refused",
    arguments: [["-O", "-o", "x"], ["-C", "100", "-o", "x"], ["-C", "-"], ["-C-", "-o-"]])
  func contradictions(_ arguments: [String]) throws {
    let failure = try #require(throws: CommandFailure.self) {
      try OutputOptions.parse(arguments).path(for: Request(url: "http://a/b"))
    }
    #expect(failure.status == .usage)
  }

  @Test("a pipe as the output gets the body, and without a reader there is one error and no further waiting")
  func pipe() throws {
    let folder = try TemporaryFolder()
    let path = folder["pipe"]
    try #require(mkfifo(path, 0o600) == 0)
    let output = try OutputFile(path, patience: .seconds(0))
    let failure = try #require(throws: CommandFailure.self) { try output.write(ByteBuffer(string: "unread")) }
    #expect(failure.status == .cannotCreate)
    #expect(failure.message == "Cannot write to \(path): no program has read from this pipe for 0 s.")
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    defer { close(reader) }
    try output.write(ByteBuffer(string: "body"))
    try output.finish()
    var bytes = [UInt8](repeating: 0, count: 10)
    #expect(read(reader, &bytes, bytes.count) == 4 && bytes.starts(with: "body".utf8))
    #expect(!output.isPartial && folder.names == ["pipe"])
  }

  private var facts: TransferFacts {
    var facts = TransferFacts(
      request: HTTPRequest(method: .get, scheme: "http", authority: "device", path: "/a"), framing: .http2, file: "out")
    facts.response = HTTPResponse(status: .notFound, headerFields: [.contentType: "text/plain", .server: "x"])
    facts.received = 3000
    facts.total = .milliseconds(1500)
    facts.firstByte = .microseconds(12)
    return facts
  }

  @Test("-w replaces the variables of curl")
  func writeOut() throws {
    let format =
      #"%{http_code} %{size_download} %{time_total} %{time_starttransfer} %{speed_download}\n%%%header{server}|%header{x}|%"#
    #expect(try WriteOut(format).text(facts, isForTerminal: false) == "404 3000 1.500000 0.000012 2000\n%x||%")
    #expect(
      try WriteOut("%{url} %{content_type} %{http_version} %{filename_effective}").text(facts, isForTerminal: false)
        == "http://device/a text/plain 2 out")
    let none = TransferFacts(request: facts.request, framing: .http2, file: nil)
    #expect(try WriteOut("%{response_code}").text(none, isForTerminal: false) == "000")
  }

  @Test("-w escapes control sequences in a server's fields")
  func writeOutTerminal() throws {
    var facts = facts
    facts.response?.headerFields[.server] = "a\u{9b}31mb"
    let format = try WriteOut(#"%header{server}\n"#)
    #expect(format.text(facts, isForTerminal: true).unicodeScalars.allSatisfy { $0 != "\u{9b}" })
    #expect(format.text(facts, isForTerminal: false) == "a\u{9b}31mb\n")
  }

  @Test("-w reports an unknown variable with a suggestion")
  func unknown() throws {
    let failure = try #require(throws: CommandFailure.self) { try WriteOut("%{http_cod}") }
    #expect(failure.message.contains("Did you mean \"http_code\"?"))
  }
}
