import Foundation
import TestPeers
import TestTools
import Testing

/// Errors that `byway check` and `--check` find before a start.
@Suite("byway check") struct CheckTests {
  private func check(_ text: String, as name: String = "hall.conf", in folder: TemporaryFolder) async throws
    -> CommandResult
  {
    try await BywayProcess.run(["check", folder.write(text, to: name)])
  }

  @Test(
    "a name that two plugins have, or an interceptor of Byway, is refused by check and at start, with one error",
    arguments: [
      (
        ["unix:/run/a.sock?as=counter", "exec:/bin/cat?as=counter"],
        "two plugins are called counter: give one another name, with as=NAME or in [interceptor NAME]."
      ), (["exec:/bin/cat?path=/a", "exec:/bin/cat?path=/b"], "two plugins are called cat: "),
      (
        ["unix:/run/a.sock?as=cache"],
        "A plugin cannot be called cache, which is the name of an interceptor of Byway: give it another name, with as=NAME"
      ),
    ])
  func names(_ plugins: [String], _ words: String) async throws {
    let folder = try TemporaryFolder()
    let settings = ["link": "unix:\(folder["link"])", "listen": "unix:\(folder["listen"])", "cache": folder["cache"]]
    let lines = settings.map { "\($0.key) = \($0.value)\n" }.joined()
    let file = lines + plugins.map { "interceptor = \($0)\n" }.joined()
    let options =
      settings.flatMap { ["--\($0.key)", $0.value] } + plugins.flatMap { ["--interceptor", $0] }
    for result in [
      try await check(file, in: folder), try await BywayProcess.run(["proxy"] + options),
    ] {
      #expect(result.exitCode == 64 && result.errorText.ranges(of: "called").count == 1, "\(result.errorText)")
      #expect(result.errorText.contains(words), "\(result.errorText)")
    }
    let request = try await BywayProcess.run(
      ["request", "--link", "unix:\(folder["link"])"] + plugins.flatMap { ["--interceptor", $0] } + ["http://x/"])
    #expect(request.exitCode == 64 && request.errorText.contains(words), "\(request.errorText)")
  }

  @Test("check reads TLS files, and reports a missing, invalid or mismatched one with its line")
  func tls() async throws {
    let folder = try TemporaryFolder()
    let ca = try await Certificates()
    let (own, other) = (ca.server, ca.client)
    let garbage = try folder.write("nothing", to: "garbage")
    let cases: [(link: String, status: Int32, words: String)] = [
      ("tls://127.0.0.1:0?\(own.options)", 0, "is valid"),
      ("tls://127.0.0.1:0", 64, "needs cert=FILE and key=FILE to listen with"),
      ("tls://127.0.0.1:0?cert=/none&key=\(own.key)", 66, "Cannot read /none (cert=): No such file or directory."),
      ("tls://127.0.0.1:0?cert=\(garbage)&key=\(own.key)", 66, "(cert=) contains no certificate"),
      ("tls://127.0.0.1:0?cert=\(own.cert)&key=\(other.key)", 66, "do not belong together"),
      (
        "tls://127.0.0.1:0?cert=\(own.key)&key=\(own.cert)", 66,
        "\(own.key) (cert=) contains a private key, where a certificate belongs: are the two files exchanged?"
      ),
      (
        "tls://127.0.0.1:0?cert=\(own.cert)&key=\(own.cert)", 66,
        "\(own.cert) (key=) contains a certificate, where a private key belongs: are the two files exchanged?"
      ),
      ("tls://127.0.0.1:0?\(own.options)&ca=/none", 66, "Cannot read /none (ca=)"),
      ("tls://0.0.0.0:0?\(own.options)", 64, "would serve anyone who reaches it"),
      ("tls://0.0.0.0:0?\(own.options)&ca=\(ca.authority)", 0, "is valid"),
      ("tls://127.0.0.1:7000?open=dial&ca=/none", 66, "Cannot read /none (ca=)"),
      ("unix:/none/l", 73, "/none"),
      ("serial:/dev/null", 64, "/dev/null cannot be used as a link: it is not a terminal."),
      ("serial:\(garbage)", 64, "\(garbage) is a regular file."), ("serial:/none/ttyUSB0", 0, "is valid"),
      ("exec:/none/program", 66, "The program /none/program does not exist: check the path."),
      ("exec:cat", 0, "is valid"),
      ("unix:/none/l?open=dial", 0, "is valid"),
    ]
    for (link, status, words) in cases {
      let text = "origin = http://127.0.0.1:1\nlink = \(link)\n"
      let result = try await check(text, in: folder)
      #expect(result.exitCode == status, "\(link): \(result.errorText)")
      let said = result.errorText + String(decoding: result.output, as: UTF8.self)
      #expect(said.contains(words), "\(said)")
      guard status != 0 else { continue }
      #expect(result.errorText.hasPrefix("byway: \(folder["hall.conf"]), line 2: link: "), "\(result.errorText)")
    }
    let proxy = try await check("link = unix:/l\nlisten = tls://127.0.0.1:0?cert=/none&key=/none\n", in: folder)
    #expect(proxy.exitCode == 66)
    #expect(proxy.errorText.contains("line 2: listen: Cannot read /none (cert=)"), "\(proxy.errorText)")
  }

  @Test("the time of a check grows linearly with the number of devices") func many() async throws {
    let folder = try TemporaryFolder()
    func time(_ count: Int) async throws -> Duration {
      var text = "listen = 127.0.0.1:0\n"
      for number in 0..<count {
        text += "[device d\(number)]\nlink = unix:/d/\(number)\ntitle = Device \(number)\n"
      }
      let path = try folder.write(text, to: "proxy-\(count).conf")
      return try await ContinuousClock().measure {
        let result = try await BywayProcess.run(["proxy", "--check", "--config", path], within: .seconds(120))
        #expect(result.exitCode == 0, "\(result.errorText)")
      }
    }
    let few = try await time(1000)
    let many = try await time(8000)
    // Quadratic time would be 64 times as long.
    #expect(many < few * 24, "\(few), \(many)")
  }

  @Test("a start fails with the same message and status as check, so a service manager does not retry")
  func start() async throws {
    let folder = try TemporaryFolder()
    for (line, status) in [("link = tls://127.0.0.1:0?cert=/none&key=/none", Int32(66)), ("link = unix:/none/l", 73)] {
      let checked = try await check("origin = http://127.0.0.1:1\n\(line)\n", in: folder)
      let started = try await BywayProcess.run(["gateway", "--config", folder["hall.conf"]])
      #expect(checked.exitCode == status && started.exitCode == status)
      #expect(started.errorText == checked.errorText)
    }
  }

  @Test("a program of a plugin that is missing or not executable is an error of the start, with status 66")
  func plugins() async throws {
    let folder = try TemporaryFolder()
    let script = try folder.write("#!/bin/sh\n", to: "stamp.sh")
    let cases = [
      ("exec:/none/stamp", "The program /none/stamp does not exist: check the path."),
      (
        "exec:\(script)?path=/a",
        "\(script) is not executable (mode 644): make it executable with chmod +x, or correct the link. Run: chmod +x \(script)"
      ),
      ("exec:no-such-program-here -x", "Command not found: no-such-program-here. Install it, or write its full path."),
    ]
    chmod(script, 0o644)
    for (link, words) in cases {
      let text = "link = unix:\(folder["l"])\norigin = http://127.0.0.1:1\ninterceptor = \(link)\n"
      let checked = try await check(text, in: folder)
      #expect(checked.exitCode == 66)
      #expect(
        checked.errorText == "byway: \(folder["hall.conf"]), line 3: interceptor: \(words)\n", "\(checked.errorText)")
      let started = try await BywayProcess.run(
        ["gateway", "--link", "unix:\(folder["l"])", "--origin", "1", "--interceptor", link])
      #expect(started.exitCode == 66 && started.errorText == "byway: --interceptor: \(words)\n", "\(started.errorText)")
      let section = try await check(
        "link = unix:\(folder["l"])\nlisten = unix:\(folder["p"])\n[interceptor stamp]\nlink = \(link)\n", in: folder)
      #expect(
        section.exitCode == 66 && section.errorText.contains("line 4: interceptor: \(words)"), "\(section.errorText)")
    }
    chmod(script, 0o755)
    let text = "link = unix:\(folder["l"])\norigin = http://127.0.0.1:1\ninterceptor = exec:\(script)\n"
    #expect(try await check(text, in: folder).exitCode == 0)
  }

  @Test("the configuration of byway-proxy@local is valid as installed, and with the two lines that name an adapter")
  func local() async throws {
    let folder = try TemporaryFolder()
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let text = try String(contentsOf: root.appending(path: "packaging/etc/local.conf"), encoding: .utf8)
    let settings = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(settings == ["listen = 127.0.0.1:8080", "discover = serial"])
    let named = text.replacing("#[", with: "[").replacing("#link", with: "link")
    for text in [text, named] {
      let result = try await check(text, as: "local.conf", in: folder)
      #expect(result.exitCode == 0, "\(result.errorText)")
    }
    #expect(named.contains("\n[device printer]\nlink = serial:usb:0403:6001:A50285BI\n"))
  }

  @Test("check tells gateway and proxy files apart by their options or file name, and refuses a pipe")
  func kinds() async throws {
    let folder = try TemporaryFolder()
    let gateway = try await check("#link = unix:l\n", as: "gateway.conf", in: folder)
    #expect(gateway.exitCode == 64)
    #expect(
      gateway.errorText
        == "byway: \(folder["gateway.conf"]): A gateway needs a link: add link, for example link = unix:/run/byway.sock.\n"
    )
    #expect(try await check("", as: "proxy-hall.conf", in: folder).errorText.contains("No link is given"))
    #expect(
      try await check("link = unix:l\nforwarded = yes\n", in: folder).errorText.contains("A gateway needs an origin"))
    let unknown = try await check("link = unix:l\n", in: folder)
    #expect(unknown.exitCode == 64)
    #expect(unknown.errorText.contains("run byway gateway --check --config"), "\(unknown.errorText)")
    let script = #"printf 'link = unix:l\norigin = http://127.0.0.1:1\n' | "$0" check /dev/stdin"#
    let piped = try await Program.bash.run(["-c", script, BywayProcess.command()])
    #expect(piped.exitCode == 66, "\(piped.errorText)")
    #expect(piped.errorText.contains("it is a pipe") && piped.errorText.contains("Write its content to a file."))
  }

  @Test("a list of valid values from the parser is reported on one line")
  func lists() async throws {
    let folder = try TemporaryFolder()
    let result = try await check("origin = http://127.0.0.1:1\nlink = unix:l\nlog-level = loud\n", in: folder)
    #expect(
      result.errorText.contains("Please provide one of the following: trace, debug, info,"), "\(result.errorText)")
  }
}
