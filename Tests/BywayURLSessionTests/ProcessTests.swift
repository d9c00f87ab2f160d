import Foundation
import FoundationNetworking
import TestPeers
import TestTools
import Testing

/// Tests of process-wide effects, each in a separate process.
@Suite(.timeLimit(.minutes(5))) struct ProcessTests {
  private func probe(_ arguments: String..., environment: [String: String] = [:]) async throws -> String {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/URLSessionProbe"
    return try await Program.run(program, arguments, within: .seconds(240), environment: environment).text
  }

  @Test("URLSession.shared uses the link after one registration, until it is removed")
  func register() async throws {
    #expect(try await probe("register") == "over the link\nafter unregistering: no such host\n")
  }

  @Test("a late registration is reported")
  func late() async throws {
    #expect(try await probe("register-late").contains("register first thing"))
  }

  @Test("a long download to a slow delegate uses little memory")
  func memory() async throws {
    // BYWAY_DOWNLOAD_BYTES=1073741824 for a long run.
    let bytes = ProcessInfo.processInfo.environment["BYWAY_DOWNLOAD_BYTES"] ?? "\(256 << 20)"
    let output = try await probe("download", bytes)
    try expectLittleMemory(output, bytes)
  }

  @Test("a long download to a file uses little memory")
  func memoryOfFile() async throws {
    let bytes = "\(64 << 20)"
    try expectLittleMemory(try await probe("download-file", bytes), bytes)
  }

  private func expectLittleMemory(_ output: String, _ bytes: String) throws {
    #expect(output.contains("received \(bytes) "))
    let peak = output.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
    let kibibytes = try #require(peak?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
    #expect(kibibytes < 64 << 10, "\(output)")
  }

  @Test("a file that cannot be created or completed is an error, and nothing is left")
  func files() async throws {
    let folder = try TemporaryFolder()
    let missing = try await probe("download-file", "1000", environment: ["TMPDIR": folder["none"]])
    #expect(missing.contains("error \(URLError.Code.cannotCreateFile.rawValue)\n"), "\(missing)")
    let full = try await probe("download-file", "1000000", "100000", environment: ["TMPDIR": folder.path])
    #expect(full.contains("error \(URLError.Code.cannotWriteToFile.rawValue)\n"), "\(full)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
