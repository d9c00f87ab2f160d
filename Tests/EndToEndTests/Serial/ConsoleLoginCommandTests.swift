import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// The command against a getty, a login and a shell on a pseudo-terminal.
  @Suite("Commands over a console with a login") struct ConsoleLoginCommandTests {
    private let password = ["BYWAY_LINK_PASSWORD": ConsoleMachine.password]

    @Test("a request logs in, and the next one finds the gateway running")
    func login() async throws {
      let (machine, origin) = (try await ConsoleMachine(), try await OriginServer())
      let link = machine.link("login=operator&shell=byway gateway --origin \(origin.endpoint)")
      for _ in 0..<2 {
        let result = try await BywayProcess.run(["request", "--link", link, "/"], environment: password)
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(result.text == "hello, byway\n")
      }
      await machine.stop()
      await origin.stop()
    }

    @Test("a shell without a login starts the gateway", arguments: ["dash", "bash --norc", "busybox sh"])
    func shell(_ shell: String) async throws {
      let (machine, origin) = (try await ConsoleMachine("--no-login", "--shell", shell), try await OriginServer())
      let link = machine.link("shell=byway gateway --origin \(origin.endpoint)")
      let result = try await BywayProcess.run(["request", "--link", link, "/"])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.text == "hello, byway\n")
      await machine.stop()
      await origin.stop()
    }

    @Test("a shell on the pipes of a command starts the gateway")
    func pipe() async throws {
      let origin = try await OriginServer()
      let link = "exec:sh?shell=\(try BywayProcess.command()) gateway --origin \(origin.endpoint)"
      let result = try await BywayProcess.run(["request", "--link", link, "/"])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.text == "hello, byway\n")
      await origin.stop()
    }

    @Test("a wrong password is an error, and is not shown")
    func wrongPassword() async throws {
      let machine = try await ConsoleMachine()
      let result = try await BywayProcess.run(
        ["request", "--link", machine.link("login=operator"), "/"], environment: ["BYWAY_LINK_PASSWORD": "hunter2"])
      EndToEnd.expect(result, code: 69, words: ["login as operator", "refused twice", "Login incorrect"])
      #expect(!result.errorText.contains("hunter2"))
      await machine.stop()
    }

    @Test("a missing password, user or program is an error that says what to do")
    func missing() async throws {
      let machine = try await ConsoleMachine()
      let noPassword = try await BywayProcess.run(["request", "--link", machine.link("login=operator"), "/"])
      EndToEnd.expect(noPassword, code: 69, words: ["password of operator", "set BYWAY_LINK_PASSWORD"])
      let noUser = try await BywayProcess.run(["request", "--link", machine.link("shell=byway"), "/"])
      EndToEnd.expect(noUser, code: 69, words: ["login=USER"])
      let noProgram = try await BywayProcess.run(
        ["request", "--link", machine.link("login=operator&shell=no-such-gateway"), "/"], environment: password)
      EndToEnd.expect(noProgram, code: 69, words: ["no program \"no-such-gateway\"", "byway push"])
      let noOrigin = try await BywayProcess.run(
        ["request", "--link", machine.link("login=operator&shell=byway gateway"), "/"], environment: password)
      EndToEnd.expect(noOrigin, code: 69, words: ["status 64", "A gateway needs an origin"])
      await machine.stop()
    }

    @Test("a proxy logs in again after its gateway was killed and the cable was pulled, whatever the kernel prints")
    func killed() async throws {
      let (machine, origin) = (try await ConsoleMachine(), try await OriginServer())
      let link = machine.link("login=operator&shell=byway gateway --origin \(origin.endpoint)")
      let proxy = try await BywayProcess.proxy(
        ["--link", link, "--listen", "127.0.0.1:0"], environment: password)
      let url = try proxy.url + "/"
      #expect(try await Curl.fetch([url], within: .seconds(40)).text == "hello, byway\n")
      try await machine.command("kill byway", number: 1)
      try await machine.command("print [    9.876543] usb 1-1: new device", number: 2)
      #expect(try await Curl.fetch(["--retry", "5", url], within: .seconds(60)).text == "hello, byway\n")
      try await machine.command("cut", number: 3)
      try await machine.command("restore", number: 4)
      #expect(try await Curl.fetch(["--retry", "5", url], within: .seconds(60)).text == "hello, byway\n")
      await proxy.process.stop()
      #expect(!proxy.log.contains(ConsoleMachine.password))
      await machine.stop()
      await origin.stop()
    }

    @Test("byway push copies a program through a login, and through the shells of commands")
    func push() async throws {
      let folder = try TemporaryFolder()
      let content = Data((0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) })
      try content.write(to: URL(filePath: folder["program"]))
      let machine = try await ConsoleMachine()
      let shells = ["exec:dash?shell=sh", "exec:bash?shell=sh", "exec:busybox sh?shell=sh"]
      for (index, link) in ([machine.link("login=operator")] + shells).enumerated() {
        let target = folder["it's \(index)"]
        let result = try await BywayProcess.run(
          ["push", link, "--program", folder["program"], "--to", target], environment: password)
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(result.text == "\(target)\n")
        #expect(result.errorText.contains("verified with sha256sum"))
        #expect(FileManager.default.contents(atPath: target) == content, "\(link)")
        #expect(try folder.permissions(of: "it's \(index)") == 0o755)
      }
      #expect(folder.names == ["it's 0", "it's 1", "it's 2", "it's 3", "program"])
      await machine.stop()
    }

    @Test("byway push gives the console back after a copy that the machine refuses")
    func givesBack() async throws {
      let folder = try TemporaryFolder()
      try folder.write("#!/bin/sh\n", to: "script")
      let machine = try await ConsoleMachine()
      let link = machine.link("login=operator")
      for _ in 0..<2 {
        let result = try await BywayProcess.run(
          ["push", link, "--program", folder["script"], "--to", "/proc/nowhere/program"], environment: password)
        EndToEnd.expect(result, code: 69, words: ["refused a command", "--to"])
      }
      await machine.stop()
    }

    @Test(
      "after an interrupted copy the console has a login again at once, and the next copy continues",
      arguments: [true, false])
    func interruptedPush(hasLogin: Bool) async throws {
      let folder = try TemporaryFolder()
      var state: UInt32 = 1
      let content = Data(
        (0..<120_000).map { _ in
          state = state &* 1_664_525 &+ 1_013_904_223
          return UInt8(truncatingIfNeeded: state >> 24)
        })
      try content.write(to: URL(filePath: folder["program"]))
      let machine = try await hasLogin ? ConsoleMachine() : ConsoleMachine("--no-login", "--shell", "dash")
      let arguments = [
        "push", machine.link(hasLogin ? "login=operator" : "shell=sh"), "--program", folder["program"], "--to",
        folder["copy"],
      ]
      let first = try ChildProcess(try BywayProcess.command(), arguments, environment: password)
      let began = try await eventually {
        guard let part = folder.names.first(where: { $0.hasPrefix("copy.part-") }) else { return false }
        return FileManager.default.contents(atPath: folder["\(part)/program"])?.isEmpty == false
      }
      #expect(began)
      first.send(SIGKILL)
      await first.stop()
      let second = try await BywayProcess.run(arguments, environment: password)
      #expect(second.exitCode == 0, "\(second.errorText)")
      #expect(second.errorText.contains("bytes are there already"))
      #expect(FileManager.default.contents(atPath: folder["copy"]) == content)
      await machine.stop()
    }

    @Test("byway push copies to a machine that has printf and cksum only")
    func fewTools() async throws {
      let folder = try TemporaryFolder()
      try Data((0..<3000).map { UInt8(truncatingIfNeeded: $0) }).write(to: URL(filePath: folder["program"]))
      try FileManager.default.createDirectory(atPath: folder["tools"], withIntermediateDirectories: true)
      for tool in ["sh", "cat", "cksum", "chmod", "mkdir", "mv", "rm", "rmdir", "uname", "wc"] {
        let path = ["/bin/\(tool)", "/usr/bin/\(tool)"].first(where: FileManager.default.isExecutableFile(atPath:))
        try FileManager.default.createSymbolicLink(
          atPath: folder["tools/\(tool)"], withDestinationPath: #require(path))
      }
      let link = "exec:env PATH=\(folder["tools"]) sh?shell=sh"
      let result = try await BywayProcess.run(
        ["push", link, "--program", folder["program"], "--to", folder["copy"]])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.errorText.contains("verified with cksum"))
      #expect(
        FileManager.default.contentsEqual(atPath: folder["copy"], andPath: folder["program"]))
    }

    @Test("byway push refuses a program for another processor, and a folder that it cannot write")
    func refused() async throws {
      let folder = try TemporaryFolder()
      var header = [UInt8](repeating: 0, count: 64)
      header.replaceSubrange(0..<6, with: [0x7F, 0x45, 0x4C, 0x46, 2, 1])
      header[18] = 22
      try Data(header).write(to: URL(filePath: folder["program"]))
      let link = "exec:sh?shell=sh"
      let other = try await BywayProcess.run(
        ["push", link, "--program", folder["program"], "--to", folder["copy"]])
      EndToEnd.expect(other, code: 69, words: ["This program is for s390x", "--program"])
      #expect(folder.names == ["program"])
      try folder.write("#!/bin/sh\n", to: "script")
      let unwritable = try await BywayProcess.run(
        ["push", link, "--program", folder["script"], "--to", "/proc/nowhere/program"])
      EndToEnd.expect(unwritable, code: 69, words: ["refused a command", "--to"])
      let noShell = try await BywayProcess.run(["push", "unix:/run/x", "--program", folder["script"]])
      EndToEnd.expect(noShell, code: 64, words: ["login=USER"])
    }
  }
}
