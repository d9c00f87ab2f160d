import Byway
import BywayDoctor
import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing
import UnixTransport

import struct Byway.TransportRegistry

/// The reports of examinations and the output of `byway doctor`.
@Suite("Doctor: reports", .timeLimit(.minutes(2))) struct ReportTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

  private func text(of document: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: document), encoding: .utf8)
  }

  @Test("the JSON report conforms to its schema for every finding")
  func schema() async throws {
    let folder = try TemporaryFolder()
    let schema = SchemaCheck(try #require(JSON(parsing: text(of: "docs/doctor.schema.json"))))
    let transports = TransportRegistry([UnixTransport()])
    let report = await Doctor(transports).examine(try transports.link("unix:\(folder["none"])"))
    #expect(schema.problems(of: report.json).isEmpty, "\(schema.problems(of: report.json))")
    let rig = try LineRig()
    let gateway = try await rig.gateway()
    let sound = try await rig.examine()
    #expect(schema.problems(of: sound.json).isEmpty, "\(schema.problems(of: sound.json))")
    #expect(sound.json["verdict"]?.text == "sound" && sound.json["fault"] == nil)
    await gateway.stop(within: .zero)
  }

  @Test("only the last line on standard output states the fault, and the status is 69")
  func lastLine() async throws {
    let folder = try TemporaryFolder()
    for arguments in [["doctor", "unix:\(folder["none"])"], ["doctor", "--link", "unix:\(folder["none"])"]] {
      let result = try await BywayProcess.run(arguments)
      #expect(result.exitCode == 69)
      #expect(result.errorText.isEmpty, "\(result.errorText)")
      #expect(result.text.hasPrefix("socket        wrong  see below\n"), "\(result.text)")
      #expect(result.text.ranges(of: "There is no socket").count == 1, "\(result.text)")
      let last = result.text.split(separator: "\n").last ?? ""
      #expect(last.hasPrefix("There is no socket \(folder["none"])"), "\(result.text)")
    }
    let twice = try await BywayProcess.run(["doctor", "unix:a", "--link", "unix:b"])
    #expect(twice.exitCode == 64 && twice.errorText.contains("given twice"), "\(twice.errorText)")
  }

  @Test(
    "byway ping and request suggest byway doctor when their link fails",
    arguments: [["ping", "-c1"], ["request", "/"]])
  func named(_ arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    let result = try await BywayProcess.run(arguments + ["--link", "unix:\(folder["none"])"])
    #expect(result.exitCode == 69)
    #expect(
      result.errorText.hasSuffix(" To find out why: byway doctor unix:\(folder["none"])\n"), "\(result.errorText)")
  }

  @Test("a signal ends the examination immediately, with a message")
  func interrupted() async throws {
    let device = try DeviceProgram()
    let process = try ChildProcess(BywayProcess.command(), ["doctor", "serial:\(device.path)"])
    _ = try await process.outputLine(containing: "cable", within: .seconds(10))
    process.send(SIGINT)
    let start = ContinuousClock.now
    #expect(await process.waitForExit(within: .seconds(10)) == .code(69))
    #expect(ContinuousClock.now - start < .seconds(3))
    await process.waitForOutput(within: .seconds(5))
    #expect(String(decoding: process.output, as: UTF8.self).hasSuffix("\nInterrupted.\n"))
    device.stop()
  }

  @Test("the report contains no control characters from a device")
  func hostileWords() async throws {
    let device = try DeviceProgram(
      unasked: (Array("\u{1B}]0;title\u{07}\u{1B}[2J login: \u{1B}[31m\u{08}\u{9B}5n\r\n".utf8), .milliseconds(200)))
    for arguments in [["doctor"], ["doctor", "--json"]] {
      let result = try await BywayProcess.run(arguments + ["serial:\(device.path)"])
      #expect(result.exitCode == 69 && result.text.contains("login"), "\(result.text)")
      #expect(!result.text.unicodeScalars.contains { $0 != "\n" && $0.isObeyed }, "\(result.text.debugDescription)")
    }
    device.stop()
  }

  @Test("--fix ends no process unless a terminal is available for confirmation")
  func fix() async throws {
    let folder = try TemporaryFolder()
    let device = try DeviceProgram()
    let login = try await PortHolder.start(named: "agetty", on: device.path, in: folder)
    let result = try await BywayProcess.run(["doctor", "--fix", "serial:\(device.path)"])
    #expect(result.exitCode == 69)
    #expect(login.exit == nil)
    await login.stop()
    device.stop()
  }
}
