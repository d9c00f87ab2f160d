import Byway
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayCommand

@Suite("byway push") struct PushTests {
  @Test("the checksum is that of cksum", arguments: [0, 1, 9, 255, 256, 5000])
  func checksum(_ count: Int) async throws {
    let folder = try TemporaryFolder()
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Data(bytes).write(to: URL(filePath: folder["file"]))
    let result = try await Program.bash.run(["-c", "cksum < '\(folder["file"])'"], within: .seconds(20))
    #expect(result.text == POSIXChecksum.text(bytes) + "\n")
  }

  @Test("the header of a program names its processor")
  func processors() throws {
    #expect(Processor(header: Self.header(62)) == .x86_64)
    #expect(Processor(header: Self.header(183)) == .aarch64)
    #expect(Processor(header: Self.header(243)) == .riscv64)
    #expect(Processor(header: Self.header(243, is64: false)) == .riscv32)
    #expect(Processor(header: Self.header(8, isLittle: false)) == .mips)
    #expect(Processor(header: Array("#!/bin/sh -e # a script".utf8)) == nil)
    #expect(Processor(header: [0x7F, 0x45, 0x4C, 0x46]) == nil)
    #expect(Processor.arm.runs(on: "armv7l") && Processor.arm.runs(on: "aarch64"))
    #expect(!Processor.arm.runs(on: "x86_64") && !Processor.x86_64.runs(on: "i686"))
    #expect(Processor.i386.runs(on: "x86_64") && !Processor.aarch64.runs(on: "armv7l"))
  }

  private static func header(_ number: UInt8, is64: Bool = true, isLittle: Bool = true) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 64)
    header.replaceSubrange(0..<6, with: [0x7F, 0x45, 0x4C, 0x46, is64 ? 2 : 1, isLittle ? 1 : 2])
    header[isLittle ? 18 : 19] = number
    return header
  }

  @Test("a copy that was interrupted continues behind the pieces that are there")
  func resumed() async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Self.noise(20_000))
    let shell = LocalShell()
    shell.failAfter = 12
    _ = await #expect(throws: CommandFailure.self) { try await Self.copy(file, to: folder["program"], shell) { _ in } }
    #expect(folder.names.contains { $0.hasPrefix("program.part-") })
    shell.failAfter = nil
    var there = 0
    let place = try await Self.copy(file, to: folder["program"], shell) {
      if case .began(_, let known) = $0 { there = known }
    }
    #expect(there > 0 && there % 2000 == 0)
    #expect(place == folder["program"])
    #expect(FileManager.default.contents(atPath: place).map(Array.init) == file.bytes)
    #expect(folder.names == ["program"])
  }

  @Test("a partial file with other content starts over")
  func foreignPart() async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Self.noise(5000))
    try folder.write("something else", to: "program.part-\(file.sha256.prefix(8))")
    var there = -1
    _ = try await Self.copy(file, to: folder["program"], LocalShell()) {
      if case .began(_, let known) = $0 { there = known }
    }
    #expect(there == 0)
    #expect(FileManager.default.contents(atPath: folder["program"]).map(Array.init) == file.bytes)
  }

  @Test("lost and damaged pieces are sent again, and answers that are lost do no harm")
  func lossy() async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Self.noise(12_000))
    let shell = LocalShell()
    shell.disturbance = { count, command in
      guard command.hasPrefix("p ") else { return .none }
      return [.none, .lost, .none, .damaged, .answerLost][count % 5]
    }
    _ = try await Self.copy(file, to: folder["program"], shell) { _ in }
    #expect(FileManager.default.contents(atPath: folder["program"]).map(Array.init) == file.bytes)
  }

  @Test("a copy that is damaged at the end is removed, and the target stays as it was")
  func damaged() async throws {
    let folder = try TemporaryFolder()
    try folder.write("old", to: "program")
    let shell = LocalShell()
    shell.beforeVerification = "printf x >> \"$f\""
    let file = ProgramFile(bytes: Self.noise(3000))
    let error = await #expect(throws: CommandFailure.self) {
      try await Self.copy(file, to: folder["program"], shell) { _ in }
    }
    #expect(error?.message.contains("damaged") == true, "\(error?.message ?? "")")
    #expect(folder.names == ["program"])
    #expect(FileManager.default.contents(atPath: folder["program"]) == Data("old".utf8))
  }

  /// Bytes that gzip does not shrink.
  private static func noise(_ count: Int) -> [UInt8] {
    var state: UInt32 = 1
    return (0..<count).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(truncatingIfNeeded: state >> 24)
    }
  }

  private static func copy(
    _ file: ProgramFile, to path: String, _ shell: LocalShell, _ observer: (ProgramCopy.Stage) -> Void
  ) async throws -> String {
    try await ProgramCopy(
      file: file, path: path, name: "program", link: "box", run: { command, _ in try await shell.run(command) }
    ).copy(observer)
  }
}

/// A shell that gets all commands up to now each time, so that no process outlives a call.
private final class LocalShell {
  enum Disturbance { case none, lost, damaged, answerLost }

  var failAfter: Int?
  var disturbance: (Int, String) -> Disturbance = { _, _ in .none }
  var beforeVerification: String?
  private var state: [String] = []
  private var count = 0

  func run(_ command: String) async throws -> RemoteShell.Answer {
    if let failAfter, count >= failAfter {
      count = 0
      state = []
      throw RemoteShell.Failure.closed
    }
    count += 1
    var line = command
    let disturbance = disturbance(count, command)
    if disturbance == .lost { throw RemoteShell.Failure.silent }
    if disturbance == .damaged { line = line.replacingOccurrences(of: "A", with: "B") }
    if let beforeVerification, command.hasPrefix("sha256sum") { line = "\(beforeVerification); \(command)" }
    // Definitions and the number of the next byte are kept; the file is on the disk.
    if command.contains("umask") || command.hasPrefix("n=") { state.append(command) }
    let script = state.joined(separator: "\n") + "\n" + "{ \(line); } 2>&1; s=$?; echo; echo \"status $s ${n-}\""
    let result = try await Program.bash.run(["-c", script], within: .seconds(20))
    let lines = result.text.split(separator: "\n").map(String.init)
    let words = try #require(lines.last).split(separator: " ")
    if words.count == 3 { state.append("n=\(words[2])") }
    if disturbance == .answerLost { throw RemoteShell.Failure.silent }
    return RemoteShell.Answer(
      status: Int(words[1]) ?? -1, text: lines.dropLast().joined(separator: "\n"))
  }
}
