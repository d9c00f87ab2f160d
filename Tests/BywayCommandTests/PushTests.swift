import Byway
import BywayTerminal
import Foundation
import Logging
import NIOCore
import NIOPosix
import ProcessTransport
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
    let part = "program.part-\(file.sha256.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder[part], withIntermediateDirectories: false)
    try folder.write("something else", to: "\(part)/program")
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

  @Test(
    "a folder in the place of the partial one that leads elsewhere, or is another user's, is refused",
    arguments: [true, false])
  func plantedFolder(_ isLink: Bool) async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Self.noise(3000))
    let shell = LocalShell()
    try FileManager.default.createDirectory(atPath: folder["other"], withIntermediateDirectories: false)
    let part = folder["program.part-\(file.sha256.prefix(8))"]
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: part, withDestinationPath: folder["other"])
    } else {
      try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: false)
      // As if the current folder belonged to another user.
      shell.prelude = #"[() { if test "$1" = -O; then false; else builtin [ "$@"; fi; }"#
    }
    let error = await #expect(throws: CommandFailure.self) {
      try await Self.copy(file, to: folder["program"], shell) { _ in }
    }
    #expect(error?.message.contains("belongs to another user") == true, "\(error?.message ?? "")")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder["other"]) == [])
    #expect(!folder.names.contains("program"))
  }

  @Test("a link in the place of the program is replaced, and a folder there is refused")
  func plantedTarget() async throws {
    let folder = try TemporaryFolder()
    try folder.write("precious", to: "other")
    try FileManager.default.createSymbolicLink(atPath: folder["program"], withDestinationPath: folder["other"])
    let file = ProgramFile(bytes: Self.noise(3000))
    _ = try await Self.copy(file, to: folder["program"], LocalShell()) { _ in }
    #expect(FileManager.default.contents(atPath: folder["program"]).map(Array.init) == file.bytes)
    #expect(FileManager.default.contents(atPath: folder["other"]) == Data("precious".utf8))
    try FileManager.default.createDirectory(atPath: folder["folder"], withIntermediateDirectories: false)
    let error = await #expect(throws: CommandFailure.self) {
      try await Self.copy(file, to: folder["folder"], LocalShell()) { _ in }
    }
    #expect(error?.message.contains("is a folder") == true, "\(error?.message ?? "")")
    #expect(folder.names == ["folder", "other", "program"])
  }

  @Test("a number of bytes that no file has starts the copy over", arguments: ["-5", "99999999999", "many"])
  func impossibleCount(_ count: String) async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Self.noise(3000))
    let shell = LocalShell()
    shell.prelude = "wc() { echo \(count); }"
    var there = -1
    _ = try await Self.copy(file, to: folder["program"], shell) {
      if case .began(_, let known) = $0 { there = known }
    }
    #expect(there == 0)
    #expect(FileManager.default.contents(atPath: folder["program"]).map(Array.init) == file.bytes)
  }

  @Test("the last steps can be run twice, because an answer to them may be lost or late")
  func lateAnswers() async throws {
    let folder = try TemporaryFolder()
    let file = ProgramFile(bytes: Array(repeating: 7, count: 20_000))
    let shell = LocalShell()
    var lost: Set<String> = []
    shell.disturbance = { _, command in
      !command.hasPrefix("p ") && lost.insert(command).inserted ? .answerLost : .none
    }
    _ = try await Self.copy(file, to: folder["program"], shell) { _ in }
    #expect(lost.contains { $0.contains("gzip -dc") })
    #expect(FileManager.default.contents(atPath: folder["program"]).map(Array.init) == file.bytes)
    #expect(folder.names == ["program"])
  }

  private static func failure(ofCopyTo path: String) async throws -> CommandFailure? {
    let command = try PushCommand.parse(["exec:sh?shell=sh", "--program", "/dev/null", "--to", path])
    return await #expect(throws: CommandFailure.self) {
      try await CommandContext.$transports.withValue(TransportRegistry([ExecTransport()])) {
        try await command.run()
      }
    }
  }

  @Test("a path that a terminal would obey, or that has several lines, is refused")
  func hostilePath() async throws {
    let shell = LocalShell()
    shell.prelude = #"[() { false; }; HOME=$'/tmp/\e[31mred'"#
    let error = await #expect(throws: CommandFailure.self) {
      try await Self.copy(ProgramFile(bytes: Self.noise(10)), to: nil, shell) { _ in }
    }
    #expect(error?.message.contains("no folder for the program") == true, "\(error?.message ?? "")")
    let longest = "/" + String(repeating: "p", count: 499)
    for path in ["/tmp/x\ntouch y", "/tmp/\u{1B}[31m", "tmp/x", "/tmp/", longest + "p"] {
      let usage = try await Self.failure(ofCopyTo: path)
      #expect(usage?.status == .usage && usage?.message.hasPrefix("--to ") == true, "\(usage?.message ?? "")")
    }
    // The path is right, and the program is empty.
    #expect(try await Self.failure(ofCopyTo: longest)?.status == .noInput)
  }

  @Test(
    "the terminal has its echo again after a signal during the question for the password",
    arguments: ["\u{3}", "SIGTERM"])
  func interruptedQuestion(keys: String) async throws {
    let run = try await TerminalRun.of(
      ["push", "exec:cat?login=root", "--program", "/bin/sh"], ["Password of root", keys])
    #expect(run.status == Int(keys == "SIGTERM" ? -SIGTERM : -SIGINT))
    #expect(run.wasChanged)
    #expect(run.isUnchanged)
  }

  @Test(
    "a shell runs the next command after a damaged one, and keeps its variables",
    arguments: ["dash", "bash", "busybox sh"])
  func damagedCommand(_ shell: String) async throws {
    let link = try TransportRegistry([ExecTransport()]).link(named: "exec:\(shell)?shell=sh")
    let context = LinkContext(
      group: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      deadline: .now() + .seconds(20))
    let shell = try await RemoteShell.start(on: try await link.openShell(context))
    _ = try await shell.run("n=5", within: .seconds(20))
    await #expect(throws: RemoteShell.Failure.silent) {
      try await shell.run("echo 'a lost quotation mark", within: .milliseconds(500))
    }
    #expect(try await shell.run("echo $n", within: .seconds(20)) == RemoteShell.Answer(status: 0, text: "5"))
    await shell.end()
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
    _ file: ProgramFile, to path: String?, _ shell: LocalShell, _ observer: (ProgramCopy.Stage) -> Void
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
  /// Commands before each one, which replace programs of the machine.
  var prelude = ""
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
    let script =
      ([prelude] + state).joined(separator: "\n") + "\n" + "{ \(line); } 2>&1; s=$?; echo; echo \"status $s ${n-}\""
    let result = try await Program.bash.run(["-c", script], within: .seconds(20))
    let lines = result.text.split(separator: "\n").map(String.init)
    let words = try #require(lines.last).split(separator: " ")
    if words.count == 3 { state.append("n=\(words[2])") }
    if disturbance == .answerLost { throw RemoteShell.Failure.silent }
    return RemoteShell.Answer(
      status: Int(words[1]) ?? -1, text: lines.dropLast().joined(separator: "\n"))
  }
}
