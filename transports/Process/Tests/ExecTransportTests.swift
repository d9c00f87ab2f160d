import Byway
import Foundation
import Glibc
import NIOCore
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import ProcessTransport

@Suite struct ExecTransportTests {
  let transport = ExecTransport(grace: .milliseconds(100))

  @Test("if a command cannot be started, the error names it and the reason")
  func notStarted() async throws {
    try await withTemporaryFolder { folder in
      try "no program".write(toFile: "\(folder)/text", atomically: true, encoding: .utf8)
      #expect(
        await failure("no-such-command-here x")
          == "Command not found: no-such-command-here. Install it, or write its full path.")
      #expect(await failure("\(folder)/none") == "The program \(folder)/none does not exist: check the path.")
      #expect(await failure("\(folder)/text")?.hasPrefix("\(folder)/text is not executable") == true)
      chmod("\(folder)/text", 0o755)
      #expect(await failure("\(folder)/text")?.hasPrefix("\(folder)/text is not a program of this machine") == true)
      try "#!/none/python\n".write(toFile: "\(folder)/script", atomically: true, encoding: .utf8)
      chmod("\(folder)/script", 0o755)
      let reason = await failure("\(folder)/script")
      #expect(reason?.hasPrefix("The interpreter of \(folder)/script does not exist") == true)
    }
  }

  @Test("if a command ends before it has sent a byte, the error has its status and last error line")
  func earlyExit() async throws {
    let received = try await run("sh -c 'echo first >&2; echo no route to host >&2; exit 3'")
    let error = try #require(received.error as? BywayError)
    #expect(error.code == .linkUnavailable)
    #expect(error.message == "sh exited with status 3 before it sent a byte. Its last words: no route to host")
    let silent = try await run("true").error as? BywayError
    #expect(silent?.message == "true exited with status 0 before it sent a byte.")
  }

  @Test("a command that fails midway causes an error, and one that ends normally does not")
  func lateExit() async throws {
    let failed = try await run("sh -c 'echo data; exit 4'")
    #expect(failed.text == "data\n")
    #expect((failed.error as? BywayError)?.code == .linkLost)
    #expect((failed.error as? BywayError)?.message == "sh exited with status 4.")
    let killed = try await run("sh -c 'echo data; kill -9 $$'")
    #expect((killed.error as? BywayError)?.message == "sh was ended by signal 9 (Killed).")
    let ended = try await run("echo data")
    #expect(ended.text == "data\n")
    #expect(ended.error == nil)
  }

  @Test("a command's standard error is logged line by line, without control characters and with a limit")
  func standardError() async throws {
    let log = LogRecord()
    let long = String(repeating: "x", count: 3_000)
    _ = try await run(#"sh -c 'printf "one\r\n\n\033[2Jtwo\302\2332J\n\#(long)\nend" >&2; echo'"#, log: log)
    #expect(
      log.all == [
        "notice sh: one", "notice sh: ?[2Jtwo?2J", "notice sh: \(String(repeating: "x", count: 1_000))…",
        "notice sh: end",
      ])
  }

  @Test("closing the channel ends the command's whole process group, and reaps the child")
  func ends() async throws {
    // Neither ends at the end of its input, and the second one also ignores SIGTERM.
    for command in [
      "sh -c 'sleep 1000 & echo $$ $!; wait'", "sh -c 'trap : TERM; echo $$; while :; do sleep 1000; done'",
    ] {
      let channel = try await connect(command)
      let text = try await channel.received(count: 2).text
      try await channel.close().get()
      for process in text.split(whereSeparator: \.isWhitespace) {
        #expect(try await eventually { !Self.isRunning(String(process)) }, "process \(process) still runs")
      }
    }
  }

  @Test("when its input ends, a command may end by itself")
  func politeEnd() async throws {
    try await withTemporaryFolder { folder in
      let patient = ExecTransport(grace: .seconds(60))
      let channel = try await patient.connect(
        to: LinkAddress("exec:sh -c 'cat >/dev/null; echo done > \(folder)/done'"), context: .test())
      try await channel.close().get()
      #expect(try await eventually { FileManager.default.fileExists(atPath: "\(folder)/done") })
    }
  }

  @Test("a command starts with its own process group, default signals and none of Byway's descriptors")
  func cleanChild() async throws {
    let leak = open("/dev/null", O_RDONLY)
    defer { close(leak) }
    let text = try await run("sh -c 'ps -o pgid= -p $$; echo $$; ls /proc/$$/fd; sh -c \"kill -PIPE \\$\\$\"; echo $?'")
      .text
    let words = text.split(whereSeparator: \.isWhitespace)
    #expect(words.count > 2 && words[0] == words[1])
    #expect(Array(words.dropFirst(2)) == ["0", "1", "2", "141"])
  }

  @Test("a command does not inherit descriptors that other threads open meanwhile")
  func cleanChildren() async throws {
    let isOver = Atomic(false)
    let opener = Thread {
      while !isOver.load(ordering: .relaxed) {
        let descriptors = (0..<8).map { _ in open("/dev/null", O_RDONLY) }
        for descriptor in descriptors { close(descriptor) }
      }
    }
    opener.start()
    defer { isOver.store(true, ordering: .relaxed) }
    for _ in 0..<100 {
      // The fourth descriptor is the one that ls reads the folder with.
      let descriptors = try await run("ls /proc/self/fd").text
      #expect(descriptors.split(whereSeparator: \.isWhitespace) == ["0", "1", "2", "3"])
    }
  }

  @Test("a listener on exec: starts its command once")
  func listens() async throws {
    let listener = try await transport.listen(on: LinkAddress("exec:echo hello"), context: .test())
    var channels = listener.channels.makeAsyncIterator()
    #expect(try await channels.next()?.received().text == "hello\n")
    #expect(try await channels.next() == nil)
    await listener.close()
  }

  @Test("the transport does not reap other children of the program")
  func otherChildren() async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "exit 7"]
    try process.run()
    _ = try await run("echo")
    process.waitUntilExit()
    #expect(process.terminationStatus == 7)
  }

  private func connect(_ command: String, log: LogRecord = LogRecord()) async throws -> any Channel {
    try await transport.connect(to: LinkAddress("exec:\(command)"), context: .test(logger: log.logger))
  }

  private func run(_ command: String, log: LogRecord = LogRecord()) async throws -> Received {
    let channel = try await connect(command, log: log)
    let received = try await channel.received()
    try? await channel.close().get()
    return received
  }

  private func failure(_ command: String) async -> String? {
    await bywayError { try await connect(command) }?.message
  }

  /// Whether a process exists. A zombie counts as running, because it was not reaped.
  private static func isRunning(_ process: String) -> Bool {
    FileManager.default.fileExists(atPath: "/proc/\(process)")
  }
}
