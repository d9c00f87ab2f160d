import Byway
import BywayDoctor
import Foundation
import ProcessTransport
import TestPeers
import TestTools
import Testing

/// Links over the standard streams of working and failing programs.
@Suite("Doctor: programs", .timeLimit(.minutes(2))) struct ProgramDoctorTests {
  private let transports = TransportRegistry([ExecTransport()])
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func examine(_ command: String) async throws -> Report {
    await Doctor(transports).examine(try transports.link("exec:\(command)"))
  }

  @Test("the doctor reports a gateway on standard streams as sound")
  func sound() async throws {
    let origin = try await OriginServer(on: .unix(folder["o"]))
    let report = try await examine("\(BywayProcess.command()) gateway --link stdio: --origin \(origin.endpoint)")
    #expect(report.expects(nil), "\(report.json)")
    await origin.stop()
  }

  @Test("the doctor reports a missing program, given by name or by path")
  func missing() async throws {
    for command in ["no-such-program-here -x", "\(folder["none"])"] {
      let report = try await examine(command)
      #expect(report.expects(.noProgram), "\(report.json)")
    }
  }

  @Test("the doctor reports a file that is not executable, a folder, and a script without #!")
  func notExecutable() async throws {
    let script = try folder.write("echo hello\n", to: "script")
    let report = try await examine(script)
    #expect(report.expects(.notExecutable) && report.line.hasSuffix("Run: chmod +x \(script)"), "\(report.json)")
    let directory = try await examine(folder.path)
    #expect(directory.expects(.notExecutable), "\(directory.json)")
    let executable = folder["executable"]
    try await Program.install(script, as: executable)
    let bare = try await examine(executable)
    #expect(bare.expects(.notExecutable) && bare.line.contains("must begin with #!"), "\(bare.json)")
  }

  @Test("the doctor reports a program that exits at once with its last output, and one that prints a greeting")
  func ends() async throws {
    let ended = try await examine("sh -c \"echo no such device >&2; exit 3\"")
    #expect(ended.expects(.programEnded) && ended.line.contains("no such device"), "\(ended.json)")
    let greeting = try await examine("sh -c \"echo Welcome to Example; exec cat\"")
    #expect(greeting.expects(.chatter) && greeting.line.contains("Welcome to Example"), "\(greeting.json)")
    let echo = try await examine("cat")
    #expect(echo.expects(.loopBack), "\(echo.json)")
  }
}
