import Foundation
import TestPeers
import TestTools
import Testing

/// `byway request` through a gateway to a real origin.
@Suite("byway request", .cleansUp) struct RequestCommandTests {
  /// Runs a shell script, for pipes.
  private func shell(_ script: String, _ gateway: BareGateway) async throws -> CommandResult {
    try await Program.bash.run([
      "-o", "pipefail", "-c", script, "test", BywayProcess.command(), "unix:\(gateway.socket)", gateway.folder.path,
    ])
  }

  @Test("byway request writes only the body to standard output, and nothing else")
  func body() async throws {
    let gateway = try await BareGateway()
    let result = try await gateway.request("/")
    #expect(result.exitCode == 0)
    #expect(result.text == "hello, byway\n")
    #expect(result.errorText.isEmpty)
  }

  @Test("-i writes the head before the body")
  func include() async throws {
    let gateway = try await BareGateway()
    let text = try await gateway.request("-i", "/cookies").text
    #expect(text.hasPrefix("HTTP/2 200"))
    #expect(text.contains("set-cookie: a=1; Path=/\r\nset-cookie: b=2, c; Path=/\r\n"))
    #expect(text.hasSuffix("\r\n\r\ntwo\n"))
  }

  @Test("-v shows both heads, informational responses and trailers")
  func verbose() async throws {
    let gateway = try await BareGateway()
    let hinted = try await gateway.request("-v", "/early-hints")
    #expect(hinted.text == "hinted\n")
    #expect(hinted.errorText.hasPrefix("> GET /early-hints HTTP/2\n> host: localhost\n"))
    #expect(hinted.errorText.contains("< HTTP/2 103"))
    #expect(try await gateway.request("-v", "/trailers").errorText.contains("< x-digest: abc\n"))
  }

  @Test("--fail turns status 400 and above into an exit status, without the body")
  func fail() async throws {
    let gateway = try await BareGateway()
    let result = try await gateway.request("--fail", "/nothing")
    #expect(result.exitCode == 22)
    #expect(result.text.isEmpty)
    #expect(result.errorText == "byway: The server answered 404.\n")
    #expect(try await gateway.request("/nothing").exitCode == 0)
  }

  @Test(
    "-o does not follow a symbolic link, overwrite a hard-linked file, or wait for a pipe",
    arguments: ["link", "hard link", "pipe", "folder"], [false, true])
  func planted(_ kind: String, _ resumes: Bool) async throws {
    let gateway = try await BareGateway()
    let folder = gateway.folder
    let victim = try folder.write("precious", to: "victim")
    switch kind {
    case "link": symlink(victim, folder["f.part"])
    case "hard link": link(victim, folder["f.part"])
    case "pipe": mkfifo(folder["f.part"], 0o666)
    default: mkdir(folder["f.part"], 0o777)
    }
    let result = try await BywayProcess.run(
      ["request", "--link", "unix:\(gateway.socket)", "-o", folder["f"]] + (resumes ? ["-C", "-"] : []) + ["/"])
    #expect(result.exitCode == 73 && result.errorText.contains("f.part"), "\(kind): \(result.errorText)")
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
    #expect(!FileManager.default.fileExists(atPath: folder["f"]))
  }

  @Test("-o creates the file when it is complete")
  func output() async throws {
    let gateway = try await BareGateway()
    let path = gateway.folder["out"]
    #expect(try await gateway.request("-o", path, "/bytes?size=3000000").exitCode == 0)
    #expect(try Data(contentsOf: URL(filePath: path)).count == 3_000_000)
    #expect(!FileManager.default.fileExists(atPath: path + ".part"))
  }

  @Test(
    "a truncated body exits with 69 and keeps the old file", arguments: ["/truncated", "/truncated-chunks", "/reset"])
  func truncated(_ path: String) async throws {
    let gateway = try await BareGateway()
    let file = try gateway.folder.write("old", to: "out")
    let result = try await gateway.request("-o", file, path)
    #expect(result.exitCode == 69)
    #expect(result.errorText.hasPrefix("byway: "))
    #expect(result.errorText.split(separator: "\n").count == 1)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "old")
  }

  @Test("the received part of a body stays in a .part file")
  func part() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("--max-time", "1", "-o", gateway.folder["out"], "/stall").exitCode == 69)
    #expect(try !Data(contentsOf: URL(filePath: gateway.folder["out.part"])).isEmpty)
    #expect(!FileManager.default.fileExists(atPath: gateway.folder["out"]))
  }

  @Test("a failed request leaves no file")
  func nothing() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("-o", gateway.folder["out"], "/hang-up").exitCode == 69)
    #expect(!FileManager.default.fileExists(atPath: gateway.folder["out"]))
    #expect(!FileManager.default.fileExists(atPath: gateway.folder["out.part"]))
  }

  @Test("an unreachable origin exits with 69 and the gateway's message")
  func originDown() async throws {
    let gateway = try await BareGateway(to: "unix:/nowhere/o")
    let result = try await gateway.request("/")
    #expect(result.exitCode == 69)
    #expect(result.text.isEmpty)
    #expect(result.errorText.contains("unix:/nowhere/o does not exist"))
  }

  @Test("a timeout before the first byte leaves no file")
  func nothingInTime() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("--max-time", "0.2", "-o", gateway.folder["out"], "/silent").exitCode == 69)
    #expect(!FileManager.default.fileExists(atPath: gateway.folder["out.part"]))
  }

  @Test("an empty body creates an empty file")
  func empty() async throws {
    let gateway = try await BareGateway()
    #expect(try await gateway.request("-o", gateway.folder["out"], "/status?code=204").exitCode == 0)
    #expect(try Data(contentsOf: URL(filePath: gateway.folder["out"])).isEmpty)
  }

  @Test("--max-time ends a request that hangs, before the head and within the body", arguments: ["/silent", "/stall"])
  func maxTime(_ path: String) async throws {
    let gateway = try await BareGateway()
    let result = try await gateway.request("--max-time", "0.3", path)
    #expect(result.exitCode == 69)
    #expect(result.errorText == "byway: The request did not end within --max-time.\n")
    // 0.5 s on an idle machine, 3 s at a load of 25, measured by the thread that waits for the process. The origin hangs for a minute.
    #expect(result.duration < .seconds(8))
  }

  @Test("-T and -d send a file or a pipe of any size")
  func uploads() async throws {
    let gateway = try await BareGateway()
    let file = gateway.folder["in"]
    try Data(repeating: 7, count: 5_000_000).write(to: URL(filePath: file))
    struct Digest: Decodable { let length: Int }
    for arguments in [["-T", file], ["-d", "@\(file)"]] {
      let answer = try await gateway.request(arguments + ["/digest"])
      #expect(try JSONDecoder().decode(Digest.self, from: answer.output).length == 5_000_000)
    }
    let piped = try await shell(#"head -c 5000000 /dev/zero | "$1" request --link "$2" -T - /digest"#, gateway)
    #expect(try JSONDecoder().decode(Digest.self, from: piped.output).length == 5_000_000)
  }

  @Test("a closed output pipe ends byway request silently")
  func brokenPipe() async throws {
    let gateway = try await BareGateway()
    let result = try await shell(
      #""$1" request --link "$2" '/bytes?size=100000000' | head -c 10 >"$3/head""#, gateway)
    #expect(result.exitCode == 0)
    #expect(result.errorText.isEmpty)
  }

  @Test("a full disk is an error")
  func fullDisk() async throws {
    let gateway = try await BareGateway()
    let result = try await gateway.request("-o", "/dev/full", "/bytes?size=100000")
    #expect(result.exitCode == 74)
    #expect(result.errorText == "byway: Cannot write to /dev/full: No space left on device.\n")
  }

  @Test("byway ping prints each round trip and a summary")
  func ping() async throws {
    let gateway = try await BareGateway()
    let result = try await BywayProcess.run(["ping", "--link", "unix:\(gateway.socket)", "-c", "3", "-i", "0.01"])
    #expect(result.exitCode == 0)
    let lines = result.text.split(separator: "\n")
    try #require(lines.count == 6)
    for number in 1...3 { #expect(lines[number - 1].contains("seq=\(number) time=")) }
    #expect(lines[4] == "3 sent, 3 received, 0% lost")
    #expect(lines[5].hasPrefix("round trip min/avg/max = "))
  }

  @Test("byway ping over a serial line also prints the line's statistics")
  func pingOverLine() async throws {
    let folder = try TemporaryFolder()
    let line = try ChildProcess(
      BywayProcess.command(), ["line", "--drop", "1%", "--seed", "7", folder["a"], folder["b"]])
    _ = try await line.errorLine(containing: "byway: line ready on ", within: .seconds(10))
    let gateway = try await BywayProcess.gateway(["--link", "serial:\(folder["b"])", "--origin", "http://127.0.0.1:1"])
    let result = try await BywayProcess.run([
      "ping", "--link", "serial:\(folder["a"])?baud=115200", "-c", "20", "-i", "0.01",
    ])
    #expect(result.exitCode == 0, "\(result.errorText)")
    let told = result.text.split(separator: "\n").filter { $0.hasPrefix("line: ") }
    // A lossy line may have negotiated error correction.
    try #require(told.count == 4 || told.count == 5 && told[3].contains(" put right"))
    #expect(told[0].contains("round trip "))
    #expect(told[1].hasSuffix(", nominal 11520"))
    #expect(told[2].contains(" frames sent, "))
    #expect(told.last?.contains(" errors in a million bytes") == true)
    await gateway.process.stop()
    await line.stop()
  }

  @Test("byway ping without a count runs until it is interrupted, and then prints a summary")
  func pingInterrupted() async throws {
    let gateway = try await BareGateway()
    let ping = try ChildProcess(BywayProcess.command(), ["ping", "--link", "unix:\(gateway.socket)", "-i", "0.01"])
    _ = try await ping.outputLine(containing: "seq=3", within: .seconds(5))
    ping.send(SIGINT)
    #expect(await ping.waitForExit(within: .seconds(5)) == .code(0))
    _ = try await ping.outputLine(containing: "0% lost", within: .seconds(5))
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
