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

  @Test("byway line with one path says that the other one is missing, with an example")
  func onePath() async throws {
    let result = try await BywayProcess.run(["line", folder["a"]])
    #expect(result.exitCode == 64)
    #expect(
      result.errorText
        == "byway: A line has two ends, and the path of the second one is missing: write byway line \(folder["a"]) PATH-B, "
        + "for example byway line /tmp/ttyA /tmp/ttyB. Try: byway help line\n")
  }

  /// Opens a device with a rate.
  private func device(_ name: String, _ rate: speed_t) throws -> CInt {
    let descriptor = open(folder[name], O_RDWR | O_NOCTTY)
    try #require(descriptor >= 0)
    var settings = termios()
    #expect(tcgetattr(descriptor, &settings) == 0)
    #expect(cfsetspeed(&settings, rate) == 0 && tcsetattr(descriptor, TCSANOW, &settings) == 0)
    return descriptor
  }

  private static let text = String(repeating: "The same rate at both ends. ", count: 4)

  /// Reads until nothing arrives for a while, or the text is complete.
  private func readText(_ descriptor: CInt) -> [UInt8] {
    var found: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while found.count < Self.text.utf8.count, poll(&interest, 1, found.isEmpty ? 20_000 : 2000) == 1 {
      let count = read(descriptor, &chunk, chunk.count)
      if count <= 0 { break }
      found += chunk[..<count]
    }
    return found
  }

  @Test(
    "without --baud, programs with different rates read garbage from each other; with --baud, the line keeps its rate",
    .timeLimit(.minutes(2)),
    arguments: [
      ([], B57600, B57600, true), ([], B57600, B9600, false), ([], B9600, B57600, false),
      (["--baud", "57600"], B57600, B9600, true),
    ] as [([String], Int32, Int32, Bool)])
  func rates(options: [String], from: Int32, to: Int32, isExact: Bool) async throws {
    let process = try ChildProcess(BywayProcess.command(), ["line"] + options + [folder["a"], folder["b"]])
    let ready = try await process.errorLine(containing: "byway: line ready on ", within: .seconds(10))
    #expect(ready.contains(options.isEmpty ? "at the rates that programs set" : "at 57600 baud"))
    let (a, b) = try (device("a", speed_t(from)), device("b", speed_t(to)))
    defer {
      close(a)
      close(b)
    }
    #expect(write(a, Self.text, Self.text.utf8.count) == Self.text.utf8.count)
    let found = readText(b)
    #expect(!found.isEmpty && (found == Array(Self.text.utf8)) == isExact, "\(String(decoding: found, as: UTF8.self))")
    #expect(await process.stop() == .code(0))
    await process.waitForOutput(within: .seconds(5))
    #expect(String(decoding: process.output, as: UTF8.self).contains("without a stop bit") == !isExact)
  }

  @Test("programs that set no rate understand each other, and one that sets 115200")
  func unsetRates() async throws {
    let (process, _) = try await line()
    let a = try device("a", speed_t(B115200))
    let b = open(folder["b"], O_RDWR | O_NOCTTY)
    defer {
      close(a)
      close(b)
    }
    #expect(write(a, Self.text, Self.text.utf8.count) == Self.text.utf8.count)
    #expect(readText(b) == Array(Self.text.utf8))
    #expect(await process.stop() == .code(0))
  }

  @Test("byway doctor finds the rate of a gateway at the other end of a line", .timeLimit(.minutes(2)))
  func doctor() async throws {
    let (process, _) = try await line()
    let gateway = try await BywayProcess.gateway([
      "--origin", "http://127.0.0.1:1", "--link", "serial:\(folder["a"])?baud=115200",
    ])
    let report = try await BywayProcess.run(["doctor", "serial:\(folder["b"])?baud=9600"], within: .seconds(60))
    #expect(report.exitCode != 0)
    #expect(report.text.contains("With baud=115200 a gateway answers, with baud=9600 it does not"), "\(report.text)")
    let again = try await BywayProcess.run(["doctor", "serial:\(folder["b"])?baud=115200"], within: .seconds(60))
    #expect(!again.text.contains("a gateway answers, with baud"), "\(again.text)")
    gateway.terminate()
    #expect(await process.stop() == .code(0))
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
