import Foundation
import TestPeers
import Testing

/// What concerns a whole process, in processes of their own.
@Suite(.timeLimit(.minutes(5))) struct ProcessTests {
  private func probe(_ arguments: String...) async throws -> String {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path + "/URLSessionProbe"
    return try await Program.run(program, arguments, within: .seconds(240)).text
  }

  @Test("URLSession.shared goes over the link after one registration, until that is taken back")
  func register() async throws {
    #expect(try await probe("register") == "over the link\nafter unregistering: no such host\n")
  }

  @Test("a registration that comes too late says so")
  func late() async throws {
    #expect(try await probe("register-late").contains("register first thing"))
  }

  @Test("a long download to a slow delegate takes little memory")
  func memory() async throws {
    // BYWAY_DOWNLOAD_BYTES=1073741824 for the long one.
    let bytes = ProcessInfo.processInfo.environment["BYWAY_DOWNLOAD_BYTES"] ?? "\(256 << 20)"
    let output = try await probe("download", bytes)
    #expect(output.contains("received \(bytes) "))
    let peak = output.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
    let kibibytes = try #require(peak?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) })
    #expect(kibibytes < 64 << 10, "\(output)")
  }
}
