import ArgumentParser
import Byway
import BywayPrimitives
import BywayTerminal
import Foundation
import NIOCore
import ProcessTransport
import TestTools
import Testing

@testable import BywayCommand

/// The commands that a copy runs, with a machine that answers as it is told. PushTests has real shells.
@Suite("Copies of byway push") struct ProgramCopyTests {
  private static let all = ["base64", "cksum", "sha256sum", "gzip"]

  /// Bytes that gzip does not shrink.
  private static func noise(_ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: 7)
    return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
  }

  private func copy(
    _ bytes: [UInt8], to path: String? = "/opt/it's", _ machine: FakeMachine
  ) async throws -> String {
    machine.digests = (ProgramFile(bytes: bytes).sha256, POSIXChecksum.text(bytes))
    let copy = ProgramCopy(
      file: ProgramFile(bytes: bytes), path: path, name: "tool", link: "box", run: { try machine.run($0, $1) })
    return try await copy.copy { machine.stages.append($0) }
  }

  private func failure(_ machine: FakeMachine, _ bytes: [UInt8] = noise(3000), to path: String? = "/opt/x") async
    -> String?
  {
    let failure = await #expect(throws: CommandFailure.self) { try await copy(bytes, to: path, machine) }
    #expect(failure?.status == .unavailable)
    return failure?.message
  }

  @Test("pieces have 2000 bytes in base64, or 800 as octal numbers, with their place, checksum and length")
  func pieces() async throws {
    for (tools, size) in [(Self.all, 2000), (["cksum"], 800), (["sha256sum"], 800)] {
      let machine = FakeMachine(tools)
      let bytes = Self.noise(4001)
      #expect(try await copy(bytes, machine) == "/opt/it's")
      var sent: [UInt8] = []
      for piece in machine.pieces {
        #expect(piece.start == sent.count && piece.bytes.count == piece.count && piece.count <= size)
        #expect(
          piece.sum
            == (tools.contains("cksum")
              ? POSIXChecksum.text(piece.bytes) : "\(ProgramFile(bytes: piece.bytes).sha256)  -"))
        sent += piece.bytes
      }
      #expect(sent == bytes && machine.pieces.first?.count == size && machine.pieces.count == (4000 + size) / size)
      let method = tools.contains("sha256sum") ? "sha256sum" : "cksum"
      #expect(
        machine.stages == [.began(total: 4001, there: 0)] + machine.pieces.map { .copied($0.count) }
          + [.verified(with: method)])
      #expect(
        machine.commands.suffix(3).first
          == #"if [ -e program ]; then [ ! -d '/opt/it'\''s' ] && chmod 755 program && mv -f program '/opt/it'\''s'; "#
          + #"else [ -e '/opt/it'\''s' ]; fi"#)
      #expect(machine.commands.suffix(2).first == "rm -f program piece unpacked")
      #expect(machine.commands.last?.contains("rmdir ./'it'\\''s.part-") == true)
      #expect(machine.commands.contains { $0.contains("umask 077") && $0.contains("mkdir ./'it'\\''s.part-") })
    }
  }

  @Test("a program is packed where the machine has gzip and that makes it smaller")
  func packed() async throws {
    let zeros = [UInt8](repeating: 0, count: 50_000)
    let machine = FakeMachine(Self.all)
    _ = try await copy(zeros, machine)
    guard case .began(let total, _)? = machine.stages.first else { return #expect(Bool(false), "no beginning") }
    #expect(total < 1000 && machine.pieces.reduce(0) { $0 + $1.count } == total)
    #expect(machine.commands.contains("gzip -dc < program > unpacked"))
    #expect(machine.commands.contains { $0.contains("mv -f unpacked ") })
    for (bytes, tools) in [(zeros, ["base64", "cksum"]), (Self.noise(3000), Self.all)] {
      let plain = FakeMachine(tools)
      _ = try await copy(bytes, plain)
      #expect(plain.stages.first == .began(total: bytes.count, there: 0))
      #expect(!plain.commands.contains { $0.hasPrefix("gzip") })
    }
  }

  @Test("a copy continues behind what is there, if that is right")
  func resumed() async throws {
    let bytes = Self.noise(5000)
    func begin(_ count: Int, _ sum: String? = nil) async throws -> (Int, [String]) {
      let machine = FakeMachine(Self.all)
      machine.there = (count, sum ?? POSIXChecksum.text(bytes.prefix(count)))
      _ = try await copy(bytes, machine)
      guard case .began(_, let there)? = machine.stages.first else { return (-1, []) }
      #expect(
        machine.pieces.reduce(0) { $0 + $1.count } == 5000 - there && machine.pieces.first?.start ?? 5000 == there)
      return (there, machine.commands.filter { $0.hasPrefix("n=") || $0.hasPrefix(": > ") })
    }
    #expect(try await begin(0) == (0, [#": > "$f""#, "n=0"]))
    #expect(try await begin(1) == (1, ["n=1"]))
    #expect(try await begin(5000) == (5000, ["n=5000"]))
    #expect(try await begin(4999, "1 4999") == (0, [#": > "$f""#, "n=0"]))
    #expect(try await begin(5001, POSIXChecksum.text(bytes)) == (0, [#": > "$f""#, "n=0"]))
  }

  @Test("a piece is sent five times, twenty seconds each, and the error tells where it stopped")
  func attempts() async throws {
    for (answer, words) in [
      (RemoteShell.Answer(status: 1, text: ""), "(they arrive damaged)"),
      (.init(status: 1, text: "No space left\u{7}"), "No space left"), (nil, "(no answer)"),
    ] as [(RemoteShell.Answer?, String)] {
      let machine = FakeMachine(Self.all)
      machine.answerToPiece = { start, _ in start == 2000 ? answer.map { .success($0) } ?? .failure(.silent) : nil }
      let message = try #require(await failure(machine))
      #expect(message.contains("the bytes after 2000 ") && message.contains(words), "\(message)")
      #expect(machine.pieceLimits == Array(repeating: .seconds(20), count: 6))
      #expect(machine.stages == [.began(total: 3000, there: 0), .copied(2000)])
    }
    let machine = FakeMachine(Self.all)
    machine.answerToPiece = { _, count in count < 4 ? .failure(.silent) : nil }
    _ = try await copy(Self.noise(1000), machine)
    #expect(machine.pieceLimits.count == 5)
  }

  @Test("a command without an answer is repeated once, with two minutes")
  func silence() async throws {
    let machine = FakeMachine(Self.all)
    machine.silences = 1
    _ = try await copy(Self.noise(10), machine)
    #expect(machine.limits.prefix(3) == [.seconds(20), .seconds(120), .seconds(20)])
    #expect(machine.commands[0] == machine.commands[1])
    let silent = FakeMachine(Self.all)
    silent.silences = .max
    let message = await failure(silent)
    #expect(message == "box has stopped to answer: check the cable, then push again to continue.")
    #expect(silent.limits == [.seconds(20), .seconds(120)])
  }

  @Test("the end of a shell is told as such, in a piece and in another command")
  func closed() async throws {
    let machine = FakeMachine(Self.all)
    machine.answerToPiece = { _, _ in .failure(.closed) }
    let words = "The shell at box has ended: push again to continue."
    #expect(await failure(machine) == words && machine.pieceLimits.count == 1)
    let other = FakeMachine(Self.all)
    other.isClosed = true
    #expect(await failure(other) == words && other.limits.count == 1)
  }

  @Test("a machine that cannot verify, that has another processor, or that refuses a command is told at once")
  func machines() async throws {
    let bare = FakeMachine(["base64", "gzip"])
    #expect(await failure(bare)?.contains("neither sha256sum nor cksum") == true && bare.commands.count == 1)
    var header = [UInt8](repeating: 0, count: 64)
    header.replaceSubrange(0..<6, with: [0x7F, 0x45, 0x4C, 0x46, 2, 1])
    header[18] = 183
    let other = FakeMachine(Self.all, machine: "armv7l")
    #expect(await failure(other, header)?.contains("for aarch64, and box is a machine of armv7l") == true)
    #expect(other.commands.count == 1)
    #expect(try await copy(header, FakeMachine(Self.all, machine: "arm64")) == "/opt/it's")
    let refusing = FakeMachine(Self.all)
    refusing.refusal = "umask"
    #expect(
      await failure(refusing) == "box refused a command: no rights. Choose another path with --to.")
  }

  @Test("without a path the copy goes to the folder that the machine names, under the program's name")
  func destination() async throws {
    let machine = FakeMachine(Self.all)
    machine.folder = "/root"
    #expect(try await copy(Self.noise(10), to: nil, machine) == "/root/tool")
    for folder in ["", "$HOME"] {
      let homeless = FakeMachine(Self.all)
      homeless.folder = folder
      #expect(await failure(homeless, to: nil)?.contains("give its path with --to") == true)
    }
  }

  @Test("a copy with another checksum at the end is removed with its piece, and not moved")
  func damaged() async throws {
    let machine = FakeMachine(Self.all)
    machine.isDamaged = true
    #expect(await failure(machine) == "The copy at box is damaged, and was removed: push again.")
    #expect(machine.commands.suffix(2).first == "rm -f program piece unpacked")
    #expect(machine.commands.last?.contains("rmdir ./'x.part-") == true)
    #expect(!machine.stages.contains(.verified(with: "sha256sum")) && !machine.commands.contains { $0.contains("mv") })
  }

  @Test("the processors of Linux programs run on their machines")
  func processors() {
    func header(_ number: Int, is64: Bool, isLittle: Bool) -> [UInt8] {
      var header = [UInt8](repeating: 0, count: 20)
      header.replaceSubrange(0..<6, with: [0x7F, 0x45, 0x4C, 0x46, is64 ? 2 : 1, isLittle ? 1 : 2])
      (header[18], header[19]) =
        isLittle ? (UInt8(number & 0xFF), UInt8(number >> 8)) : (UInt8(number >> 8), UInt8(number & 0xFF))
      return header
    }
    let expected: [(Int, is64: Bool, isLittle: Bool, Processor, runs: [String], not: [String])] = [
      (62, true, true, .x86_64, ["x86_64", "amd64"], ["i686", "aarch64"]),
      (3, false, true, .i386, ["i386", "i486", "i586", "i686", "x86_64"], ["amd", "armv7l"]),
      (183, true, true, .aarch64, ["aarch64", "arm64"], ["armv8l"]),
      (40, false, true, .arm, ["armv5tel", "armv7l", "aarch64"], ["arm64", "mips"]),
      (243, true, true, .riscv64, ["riscv64"], ["riscv32"]), (243, false, true, .riscv32, ["riscv32"], ["riscv64"]),
      (8, false, false, .mips, ["mips", "mips64"], ["ppc64"]), (8, false, true, .mips, ["mipsel"], []),
      (21, true, false, .ppc64, ["ppc64"], ["ppc64le"]), (21, true, true, .ppc64le, ["ppc64le"], ["ppc64"]),
      (22, true, false, .s390x, ["s390x"], ["x86_64"]), (258, true, true, .loongarch64, ["loongarch64"], ["mips"]),
      (9999, true, true, .unknown, ["anything"], []),
    ]
    for (number, is64, isLittle, processor, runs, not) in expected {
      let bytes = header(number, is64: is64, isLittle: isLittle)
      #expect(Processor(header: bytes) == processor && Processor(header: Array(bytes.dropLast())) == nil)
      for machine in runs { #expect(processor.runs(on: machine), "\(processor) on \(machine)") }
      for machine in not { #expect(!processor.runs(on: machine), "\(processor) on \(machine)") }
    }
  }

  @Test("a program file that is missing or empty is an error that names it")
  func files() throws {
    for (path, words) in [("/no/such/program", "Cannot read /no/such/program"), ("/dev/null", "is empty")] {
      let failure = #expect(throws: CommandFailure.self) { try ProgramFile(path) }
      #expect(failure?.status == .noInput && failure?.message.contains(words) == true)
    }
  }

  @Test("--to takes the full path of a file")
  func target() async throws {
    let longest = "/" + String(repeating: "a", count: 499)
    for (path, status) in [
      ("program", ExitStatus.usage), ("./program", .usage), ("/usr/bin/", .usage), ("", .usage),
      (longest + "a", .usage),
      // The next check is that of the program.
      (longest, .noInput), ("/a", .noInput),
    ] {
      let command = try PushCommand.parse(["exec:sh?shell=sh", "--program", "/dev/null", "--to", path])
      let failure = await #expect(throws: CommandFailure.self) {
        try await CommandContext.$transports.withValue(TransportRegistry([ExecTransport()])) {
          try await command.run()
        }
      }
      #expect(failure?.status == status, "\(path)")
    }
  }
}

/// A machine with some tools, whose partial file begins with some bytes.
private final class FakeMachine {
  struct Piece: Equatable {
    let start: Int
    let sum: String
    let bytes: [UInt8]
    let count: Int
  }

  private let tools: [String]
  private let machine: String
  var stages: [ProgramCopy.Stage] = []
  /// All commands but pieces, and their limits.
  private(set) var commands: [String] = []
  private(set) var limits: [TimeAmount] = []
  /// The pieces that were taken, and the limits of all.
  private(set) var pieces: [Piece] = []
  private(set) var pieceLimits: [TimeAmount] = []
  var digests = (sha256: "", checksum: "")
  var there: (count: Int, sum: String)?
  var folder = "/usr/local/bin"
  var silences = 0
  var isClosed = false
  var isDamaged = false
  /// A part of the command that is refused.
  var refusal: String?
  /// Returns the answer to a piece by its place, and the number of pieces before it; `nil` to take it.
  var answerToPiece: (Int, Int) -> Result<RemoteShell.Answer, RemoteShell.Failure>? = { _, _ in nil }

  init(_ tools: [String], machine: String = "x86_64") {
    (self.tools, self.machine) = (tools, machine)
  }

  func run(_ command: String, _ limit: TimeAmount) throws -> RemoteShell.Answer {
    if command.hasPrefix("p ") { return try take(command, limit) }
    commands.append(command)
    limits.append(limit)
    if isClosed { throw RemoteShell.Failure.closed }
    if silences > 0 {
      silences -= 1
      throw RemoteShell.Failure.silent
    }
    if let refusal, command.contains(refusal) { return .init(status: 1, text: "no rights") }
    return .init(status: 0, text: answer(command))
  }

  private func answer(_ command: String) -> String {
    switch command {
    case _ where command.hasPrefix("uname"): ([machine] + tools.map { "has-\($0)" }).joined(separator: "\n")
    case _ where command.hasPrefix("d="): folder
    case _ where command.contains("wc -c"): "  \(there?.count ?? 0)\n\(there?.sum ?? "4294967295 0")"
    case _ where command.hasPrefix("sha256sum"): isDamaged ? "0  -" : "\(digests.sha256)  -"
    case _ where command.hasPrefix("cksum"): isDamaged ? "0 0" : digests.checksum
    default: ""
    }
  }

  private func take(_ command: String, _ limit: TimeAmount) throws -> RemoteShell.Answer {
    let words = command.split(separator: "'", omittingEmptySubsequences: false)
    let start = Int(words[0].dropFirst(2).dropLast()) ?? -1
    defer { pieceLimits.append(limit) }
    if let answer = answerToPiece(start, pieceLimits.count) { return try answer.get() }
    let bytes =
      tools.contains("base64")
      ? Data(base64Encoded: String(words[3])).map(Array.init) ?? []
      : words[3].split(separator: "\\").compactMap { UInt8($0, radix: 8) }
    pieces.append(Piece(start: start, sum: String(words[1]), bytes: bytes, count: Int(words[4].dropFirst()) ?? -1))
    return .init(status: 0, text: "")
  }
}
