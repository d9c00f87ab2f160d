import Foundation
import TestPeers
import TestTools
import Testing

/// Options that `byway request` shares with curl, through a gateway to a real origin.
@Suite("byway request, options of curl", .cleansUp) struct CurlOptionsTests {
  @Test("-I shows the response head only")
  func head() async throws {
    let gateway = try await BareGateway()
    let result = try await gateway.request("-I", "/bytes?size=5")
    #expect(result.text.hasPrefix("HTTP/2 200"))
    #expect(result.text.contains("content-length: 5\r\n") && result.text.hasSuffix("\r\n\r\n"))
  }

  @Test("-L follows redirects, and -w reports their number and the final URL")
  func location() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("/moved").text == "over there\n")
    let followed = try await gateway.request(
      "-L", "-w", #"%{http_code} %{num_redirects} %{url_effective}\n"#, "/moved?to=/moved")
    let told = try #require(
      followed.text.wholeMatch(of: /hello, byway\n200 2 (.*)\n/), "\(followed.text) \(followed.errorText)")
    #expect(told.1.hasPrefix("http://") && !told.1.contains("moved"))
  }

  @Test("-u, a URL and a netrc file log in only where the origin asks for it")
  func login() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("-u", "me:s:e", "/login").text == "me:s:e")
    #expect(try await gateway.request("http://you:s%40x@device/login").text == "you:s@x")
    let netrc = try gateway.folder.write("machine device login me password word\n", to: "netrc")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: netrc)
    #expect(try await gateway.request("--auth", netrc, "http://device/login").text == "me:word")
    #expect(try await gateway.request("-w", "%{http_code}", "/login").text == "who is it?\n401")
    // Credentials in a query are not a login for the origin.
    let query = try await gateway.request("/login?then=http://me:word@device/")
    #expect(query.text == "who is it?\n", "\(query.text) \(query.errorText)")
    // A redirect to another host does not reveal the password.
    let elsewhere = try await gateway.request("-L", "-u", "me:word", "http://device/moved?to=http://other/login")
    #expect(elsewhere.text == "who is it?\n", "\(elsewhere.text)")
    let nobody = try await gateway.request("-u", "me", "/login")
    #expect(nobody.exitCode == 64 && nobody.errorText.contains("-u me:PASSWORD"), "\(nobody.errorText)")
  }

  @Test(
    "-C - resumes a download, whether or not the earlier request used -C", arguments: [[], ["-C", "-"]])
  func resume(_ options: [String]) async throws {
    let gateway = try await BareGateway()
    let path = gateway.folder["out"]
    let first = try await gateway.request(options + ["-o", path, "/resumable?size=400000"])
    if options.isEmpty {
      #expect(first.exitCode == 69)
      #expect(try Data(contentsOf: URL(filePath: path + ".part")).count > 0)
    }
    let second = try await gateway.request(["-C", "-", "-o", path, "/resumable?size=400000", "-w", "%{http_code}"])
    #expect(second.exitCode == 0, "\(second.errorText)")
    if options.isEmpty { #expect(second.text == "206") }
    let whole = try await Curl.fetch("--unix-socket", gateway.folder["o"], "http://o/bytes?size=400000")
    #expect(try Data(contentsOf: URL(filePath: path)) == whole.body)
    for rest in [".part", ".part.tag"] { #expect(!FileManager.default.fileExists(atPath: path + rest)) }
  }

  @Test("-C - reports a gateway's failure with the gateway's message")
  func resumeFailure() async throws {
    let gateway = try await BareGateway(to: "unix:/nowhere/o")
    let result = try await gateway.request("-C", "-", "-o", gateway.folder["out"], "/x")
    #expect(result.exitCode == 69)
    #expect(result.errorText.contains("unix:/nowhere/o does not exist"), "\(result.errorText)")
  }

  @Test("--compress fetches an identical body over a link with compression")
  func compress() async throws {
    let gateway = try await BareGateway(["--compress"])
    let plain = try await gateway.request("/large-fields")
    let squeezed = try await gateway.request("--compress", "/large-fields")
    #expect(squeezed.exitCode == 0 && squeezed.text == plain.text)
  }

  @Test("-F sends a form with its files")
  func form() async throws {
    let gateway = try await BareGateway()
    let file = try gateway.folder.write("content", to: "f.txt")
    let text = try await gateway.request("-F", "a=1", "-F", "f=@\(file)", "/echo").text
    #expect(text.contains("multipart/form-data; boundary="))
    #expect(text.contains(#"name=\"f\"; filename=\"f.txt\""#), "\(text)")
  }

  @Test("binary output is not written to a terminal unless requested")
  func binary() async throws {
    let gateway = try await BareGateway()
    let link = ["request", "--link", "unix:\(gateway.socket)"]
    let refused = try await TerminalRun.of(link + ["/bytes?size=10"])
    #expect(refused.status == 74)
    #expect(refused.output.contains("-o FILE"))
    #expect(try await TerminalRun.of(link + ["/"]).output.contains("hello, byway"))
    #expect(try await TerminalRun.of(link + ["-o", "-", "/bytes?size=10"]).status == 0)
  }

  @Test("the progress of a resumed download starts at the earlier position, and -s hides it")
  func progress() async throws {
    let gateway = try await BareGateway()
    let path = gateway.folder["out"]
    let arguments = ["request", "--link", "unix:\(gateway.socket)", "-o", path, "/resumable?size=9000000"]
    #expect(try await gateway.request("-o", path, "/resumable?size=9000000").exitCode == 69)
    let shown = try await TerminalRun.of(arguments + ["-C", "-"])
    #expect(shown.status == 0 && shown.output.contains(" of 8.6 MiB"), "\(shown.output)")
    #expect(!shown.output.contains(" 1%") && !shown.output.contains(" 20%"), "\(shown.output)")
    let silent = try await TerminalRun.of(arguments.map { $0.replacing("resumable", with: "bytes") } + ["-s"])
    #expect(silent.status == 0 && silent.output.isEmpty, "\(silent.output)")
  }
}

extension BareGateway {
  fileprivate func request(_ arguments: String...) async throws -> CommandResult {
    try await request(arguments)
  }

  fileprivate func request(_ arguments: [String]) async throws -> CommandResult {
    try await BywayProcess.run(["request", "--link", "unix:\(socket)"] + arguments)
  }
}
