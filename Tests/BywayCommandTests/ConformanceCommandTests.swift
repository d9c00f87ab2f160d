import Foundation
import TestPeers
import TestTools
import Testing

@Suite("byway line --conform") struct ConformanceCommandTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private static let minimal = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../LineLayerTests/Vectors/minimal.py").standardized.path

  /// Runs the conformance test. A busy machine may be late at times.
  private func conform(_ role: String, _ arguments: String..., baud: Int = 921_600) async throws -> CommandResult {
    try await BywayProcess.run(
      ["line", "--conform", role, "--quick", "--baud", "\(baud)", "--tolerance", "1.5s"] + arguments + [folder["tty"]],
      within: .seconds(100))
  }

  @Test("a listening gateway passes the conformance test", .timeLimit(.minutes(2)))
  func gateway() async throws {
    let link = "serial:\(folder["tty"])?baud=921600"
    let gateway = try ChildProcess(
      BywayProcess.command(), ["gateway", "--link", link, "--origin", "http://127.0.0.1:9"])
    let result = try await conform("listen")
    #expect(result.exitCode == 0, "\(result.text)")
    #expect(result.text.hasPrefix("TAP version 13\n1.."))
    #expect(result.text.split(separator: "\n").filter { $0.hasPrefix("ok ") }.count > 75)
    await gateway.stop()
  }

  @Test("a gateway on a slow line passes the conformance test", .timeLimit(.minutes(2)))
  func slowLine() async throws {
    let line = try ChildProcess(BywayProcess.command(), ["line", "--baud", "57600", folder["far"], folder["tty"]])
    _ = try await line.errorLine(containing: "byway: line ready on ", within: .seconds(10))
    let gateway = try ChildProcess(
      BywayProcess.command(),
      ["gateway", "--link", "serial:\(folder["far"])?baud=57600", "--origin", "http://127.0.0.1:9"])
    let result = try await conform("listen", "--only", "§4", baud: 57_600)
    #expect(result.exitCode == 0, "\(result.text)")
    #expect(result.text.split(separator: "\n").filter { $0.hasPrefix("ok ") }.count > 3)
    await gateway.stop()
    await line.stop()
  }

  @Test("a dialing gateway passes the conformance test", .timeLimit(.minutes(2)))
  func dialingGateway() async throws {
    let link = "serial:\(folder["tty"])?baud=921600&open=dial"
    let gateway = try ChildProcess(
      BywayProcess.command(), ["gateway", "--link", link, "--origin", "http://127.0.0.1:9"])
    let result = try await conform("dial", "--only", "opening × HELLO")
    #expect(result.exitCode == 0, "\(result.text)")
    await gateway.stop()
  }

  @Test("a text that no title contains is an error")
  func noSuchCheck() async throws {
    let result = try await conform("listen", "--only", "paragraph nine")
    #expect(result.exitCode == 64)
    #expect(result.errorText.contains("\"paragraph nine\""), "\(result.errorText)")
    #expect(!FileManager.default.fileExists(atPath: folder["tty"]))
  }

  @Test(
    "a minimal implementation, without optional features, passes the conformance test",
    .timeLimit(.minutes(2)), arguments: ["dial", "listen"])
  func minimalEnd(_ role: String) async throws {
    let end = try ChildProcess(Program.python.path(), ["-B", Self.minimal, role, folder["tty"]])
    let result = try await role == "dial" ? conform(role, "--only", "open ×") : conform(role)
    #expect(result.exitCode == 0, "\(result.text)")
    await end.stop()
  }

  @Test("a peer that only echoes bytes fails the conformance test, with an explanation", .timeLimit(.minutes(1)))
  func echo() async throws {
    let echo =
      "import os,sys,time,tty\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"
      + "end=os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); tty.setraw(end)\nwhile 1: os.write(end, os.read(end, 99))"
    let end = try ChildProcess(Program.python.path(), ["-c", echo, folder["tty"]])
    let result = try await conform("listen", "--only", "waiting × HELLO, other")
    #expect(result.exitCode == 1)
    #expect(result.text.contains("\nnot ok 1 - §8 waiting × HELLO, other: drop\n"))
    #expect(result.text.contains("in  open version=1"))
    await end.stop()
  }

  @Test("SIGTERM ends the conformance test and removes its terminal", .timeLimit(.minutes(1)))
  func interrupted() async throws {
    let tester = try ChildProcess(BywayProcess.command(), ["line", "--conform", "listen", folder["tty"]])
    _ = try await tester.errorLine(containing: "byway: testing the end at", within: .seconds(10))
    #expect(FileManager.default.fileExists(atPath: folder["tty"]))
    #expect(await tester.stop() == .code(1))
    #expect(!FileManager.default.fileExists(atPath: folder["tty"]))
  }

  @Test("the conformance test exits with 64 for two paths, an injected fault or an unknown role")
  func usage() async throws {
    for arguments in [["dial", "a", "b"], ["dial", "--drop", "1%", "a"], ["both", "a"], ["listen"]] {
      #expect(try await BywayProcess.run(["line", "--conform"] + arguments).exitCode == 64, "\(arguments)")
    }
    #expect(try await BywayProcess.run(["line", "--quick", folder["a"], folder["b"]]).exitCode == 64)
    let file = try folder.write("mine", to: "file")
    #expect(try await BywayProcess.run(["line", "--conform", "listen", file]).exitCode == 73)
  }
}
