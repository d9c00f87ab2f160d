import Foundation
import TestPeers
import TestTools
import Testing

@Suite("byway line") struct LineCommandTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func line(_ arguments: String...) async throws -> (process: ChildProcess, ready: String) {
    let process = try ChildProcess(BywayProcess.command(), ["line"] + arguments + [folder["a"], folder["b"]])
    return (process, try await process.errorLine(containing: "byway: line ready on ", within: .seconds(10)))
  }

  @Test("byway line reports its paths and seed, and on SIGTERM removes the paths and prints statistics")
  func running() async throws {
    let (process, ready) = try await line("--seed", "7", "--baud", "921600")
    #expect(ready == "byway: line ready on \(folder["a"]) \(folder["b"]) at 921600 baud, seed 7")

    let a = open(folder["a"], O_RDWR | O_NOCTTY)
    let b = open(folder["b"], O_RDWR | O_NOCTTY)
    defer {
      close(a)
      close(b)
    }
    try #require(a >= 0 && b >= 0)
    #expect(write(a, "hello", 5) == 5)
    var interest = pollfd(fd: b, events: Int16(POLLIN), revents: 0)
    #expect(poll(&interest, 1, 10_000) == 1)

    #expect(await process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["a"]))
    #expect(!FileManager.default.fileExists(atPath: folder["b"]))
    await process.waitForOutput(within: .seconds(5))
    let lines = String(decoding: process.output, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.first?.hasPrefix("\(folder["a"]) → \(folder["b"]): 5 bytes sent, ") == true)
    #expect(lines.last == "\(folder["b"]) → \(folder["a"]): 0 bytes sent, 0 delivered, none damaged")
  }

  @Test("byway line cuts the line on schedule and logs it")
  func cuts() async throws {
    let (process, _) = try await line("--cut", "rename@50ms+50ms", "--cut-end", "b")
    _ = try await process.errorLine(containing: "end b is back on \(folder["b"])1", within: .seconds(10))
    #expect(process.errorText.contains("byway: end b has hung up"))
    #expect(FileManager.default.fileExists(atPath: folder["b"] + "1"))
    #expect(await process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["b"] + "1"))
  }

  @Test("byway line runs commands from standard input", .timeLimit(.minutes(1)))
  func console() async throws {
    let orders = "printf 'cut\\nnonsense\\nrestore\\nstatistics\\nquit\\n' | \"$1\" line \"$2\" \"$3\""
    let result = try await Program.bash.run(["-c", orders, "test", BywayProcess.command(), folder["a"], folder["b"]])
    #expect(result.exitCode == 0)
    #expect(result.text.split(separator: "\n").count == 4)
    #expect(result.errorText.contains("byway: write cut"))
    #expect(!FileManager.default.fileExists(atPath: folder["a"]))
  }

  @Test("byway line exits with 73 if a path cannot be created, and with 64 for an invalid option")
  func failures() async throws {
    let noFolder = try await BywayProcess.run(["line", "/nowhere/a", "/nowhere/b"])
    #expect(noFolder.exitCode == 73)
    #expect(noFolder.errorText.hasPrefix("byway: Cannot create /nowhere/a"))
    let taken = try folder.write("mine", to: "taken")
    #expect(try await BywayProcess.run(["line", folder["a"], taken]).exitCode == 73)
    #expect(try await BywayProcess.run(["line", "--drop", "2", folder["a"], folder["b"]]).exitCode == 64)
    #expect(try await BywayProcess.run(["line", folder["a"]]).exitCode == 64)
  }
}
