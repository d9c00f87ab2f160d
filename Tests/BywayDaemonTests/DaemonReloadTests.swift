import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing

/// A reload takes effect completely or not at all.
@Suite("Reload of daemons", .timeLimit(.minutes(2))) struct DaemonReloadTests {
  /// A gateway with a control socket and a changing configuration file.
  private final class House: Sendable {
    let folder: TemporaryFolder
    let environment: [String: String]

    init() throws {
      folder = try TemporaryFolder()
      environment = ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""]
    }

    func gateway(_ text: String) async throws -> BywayProcess {
      try await BywayProcess.gateway(["--config", write(text)], environment: environment)
    }

    /// Returns a gateway's section of the file.
    /// - Parameter origin: the port of its origin.
    func section(_ name: String, origin: Int, link: String? = nil) -> String {
      "[gateway \(name)]\norigin = http://127.0.0.1:\(origin)\nlink = unix:\(folder[link ?? name])"
    }

    @discardableResult
    func write(_ text: String) throws -> String { try folder.write(text, to: "hall.conf") }

    func byway(_ arguments: String...) async throws -> CommandResult {
      try await BywayProcess.run(arguments, environment: environment)
    }

    func status() async throws -> JSON {
      let result = try await byway("status", "--json")
      return try #require(JSON(parsing: String(decoding: result.output, as: UTF8.self)), "\(result.errorText)")
    }

    func origins() async throws -> [JSON] {
      (try await status()["members"]?.elements ?? []).flatMap { $0["origins"]?.elements ?? [] }
    }

    func isThere(_ socket: String) -> Bool { FileManager.default.fileExists(atPath: folder[socket]) }

    /// Puts a file in the place of a socket: the daemon notices that only when another section opens the link.
    func spoil(_ socket: String) throws {
      try FileManager.default.removeItem(atPath: folder[socket])
      try folder.write("", to: socket)
    }

    func curl(_ socket: String) async throws -> Int {
      try await Curl.fetch(["--http2-prior-knowledge", "--unix-socket", folder[socket], "http://device/"]).status
    }
  }

  @Test(
    "a pipe or device in place of a file is refused at once, and reload, status, check and stop still work",
    arguments: ["config", "stub", "replay", "auth", "trace", "cert", "key"])
  func pipes(_ kind: String) async throws {
    let house = try House()
    let folder = house.folder
    let plain = "origin = http://127.0.0.1:1\nlink = unix:\(folder["l"])\n"
    let gateway = try await house.gateway(plain)
    for place in [folder["pipe"], "/dev/zero"] where kind != "trace" || place != "/dev/zero" {
      if place == folder["pipe"] { mkfifo(place, 0o600) }
      switch kind {
      case "config":
        unlink(folder["hall.conf"])
        symlink(place, folder["hall.conf"])
      case "cert": try house.write(plain + "link = tls://127.0.0.1:0?cert=\(place)&key=/none\n")
      case "key": try house.write(plain + "link = tls://127.0.0.1:0?cert=/none&key=\(place)\n")
      default: try house.write(plain + "\(kind) = \(place)\n")
      }
      for command in [["reload"], ["check", folder["hall.conf"]]] {
        let result = try await BywayProcess.run(command, within: .seconds(10), environment: house.environment)
        // Only the start finds that an output pipe has no reader.
        #expect(result.exitCode != 0 || kind == "trace" && command[0] == "check", "\(kind) \(command) \(place)")
        // A recording is a folder, and has its own message.
        if kind == "replay" {
          #expect(result.errorText.contains("is not a folder"), "\(result.errorText)")
        } else if !["cert", "key", "trace"].contains(kind) || place == folder["pipe"] && kind == "cert" {
          #expect(result.errorText.contains(place == folder["pipe"] ? "a pipe" : "a device"), "\(result.errorText)")
        }
      }
      #expect(try await house.byway("status").exitCode == 0)
      if kind == "config" { unlink(folder["hall.conf"]) }
    }
    #expect(try await house.byway("stop").exitCode == 0)
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("--memory-budget applies from the start and after a reload, and status and metrics show it")
  func memoryBudget() async throws {
    let house = try House()
    let metrics = house.folder["m"]
    func text(_ budget: String) -> String {
      "\(budget)metrics = unix:\(metrics)\norigin = http://127.0.0.1:1\nlink = unix:\(house.folder["l"])\n"
    }
    func expect(_ bytes: Int) async throws {
      let lines = try await Curl.fetch("--unix-socket", metrics, "http://localhost/metrics").text.split(separator: "\n")
      #expect(lines.contains("byway_held_limit_bytes \(bytes)"))
      #expect(lines.contains("byway_held_bytes 0") && lines.contains("byway_held_refusals_total 0"))
      #expect(try await house.status()["held"]?["limitBytes"] == .number(bytes))
    }
    let gateway = try await house.gateway(text("memory-budget = 5M\n"))
    try await expect(5 << 20)
    try house.write(text("memory-budget = 3M\n"))
    #expect(try await house.byway("reload").exitCode == 0)
    try await expect(3 << 20)
    // A refused file changes nothing.
    try house.write(text("memory-budget = 2M\n") + "link = nowhere:x\n")
    #expect(try await house.byway("reload").exitCode != 0)
    try await expect(3 << 20)
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("if one section cannot be opened, all sections keep the old configuration and no new one starts")
  func allOrNothing() async throws {
    let house = try House()
    let folder = house.folder
    let other = try await BywayProcess.gateway(["--link", "unix:\(folder["taken"])", "--origin", "http://127.0.0.1:1"])
    let gateway = try await house.gateway(
      """
      \(house.section("a", origin: 1))
      \(house.section("b", origin: 1))
      """)
    try house.write(
      """
      \(house.section("a", origin: 2))
      link = unix:\(folder["more"])
      \(house.section("c", origin: 2))
      \(house.section("b", origin: 2))
      link = unix:\(folder["taken"])
      """)
    let refused = try await house.byway("reload")
    #expect(refused.exitCode == 69)
    #expect(refused.errorText.hasPrefix("byway: hall: [gateway b]: "), "\(refused.errorText)")
    #expect(try await house.status()["reload"]?["result"]?.text == "refused")
    #expect(try await house.status()["members"]?.elements.compactMap { $0["name"]?.text } == ["a", "b"])
    #expect(
      try await house.origins().compactMap { $0["name"]?.text } == ["http://127.0.0.1:1", "http://127.0.0.1:1"])
    #expect(!house.isThere("c") && !house.isThere("more"))
    for socket in ["a", "b"] { #expect(try await house.curl(socket) == 503) }
    await other.process.stop()
    // The refused reload released the address, so it is available now.
    #expect(try await house.byway("reload").exitCode == 0)
    for socket in ["a", "more", "c", "b", "taken"] { #expect(try await house.curl(socket) == 503) }
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("sections can exchange links, and keep their own if the exchange is refused")
  func exchange() async throws {
    let house = try House()
    func sections(_ first: [String], _ second: [String]) -> String {
      let links = [first, second].map { $0.map { "link = unix:\(house.folder[$0])\n" }.joined() }
      return
        "[gateway a]\norigin = http://127.0.0.1:1\n\(links[0])[gateway b]\norigin = http://127.0.0.1:2\n\(links[1])"
    }
    let gateway = try await house.gateway(sections(["w", "x"], ["y", "z"]))
    try house.write(sections(["w", "y"], ["x", "z", "none/such"]))
    #expect(try await house.byway("reload").exitCode != 0)
    #expect(
      try await house.status()["members"]?.elements.first?["links"]?.elements.compactMap { $0["name"]?.text }
        == ["w", "x"].map { "unix:\(house.folder[$0])" })
    for socket in ["w", "x", "y", "z"] { #expect(try await house.curl(socket) == 503) }
    try house.write(sections(["w", "y"], ["x", "z"]))
    let done = try await house.byway("reload")
    #expect(done.exitCode == 0, "\(done.errorText)")
    for socket in ["w", "x", "y", "z"] { #expect(try await house.curl(socket) == 503) }
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("sections that have exchanged links get their own back if a later link cannot be opened")
  func exchangedBack() async throws {
    let house = try House()
    func sections(_ links: [String]...) -> String {
      zip(["a", "b", "c"], links).map { name, links in
        "[gateway \(name)]\norigin = http://127.0.0.1:1\n"
          + links.map { "link = unix:\(house.folder[$0])\n" }.joined()
      }.joined()
    }
    let gateway = try await house.gateway(sections(["w", "x"], ["y", "z"], ["u", "v"]))
    try house.spoil("v")
    try house.write(sections(["w", "y"], ["x", "z", "v"], ["u"]))
    #expect(try await house.byway("reload").exitCode != 0)
    for socket in ["w", "x", "y", "z", "u"] { #expect(try await house.curl(socket) == 503, "\(socket)") }
    try house.write(sections(["w", "y"], ["x", "z"], ["u"]))
    let done = try await house.byway("reload")
    #expect(done.exitCode == 0, "\(done.errorText)")
    for socket in ["w", "x", "y", "z", "u"] { #expect(try await house.curl(socket) == 503, "\(socket)") }
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("a refused reload keeps a section that the new file removes, with links that other sections wanted")
  func removed() async throws {
    let house = try House()
    func section(_ name: String, _ links: String...) -> String {
      let links = links.map { "link = unix:\(house.folder[$0])\n" }.joined()
      return "[gateway \(name)]\norigin = http://127.0.0.1:1\n\(links)"
    }
    let gateway = try await house.gateway(section("a", "x") + section("b", "y") + section("c", "z"))
    try house.spoil("z")
    try house.write(section("a", "x", "y", "z"))
    #expect(try await house.byway("reload").exitCode != 0)
    #expect(try await house.status()["members"]?.elements.compactMap { $0["name"]?.text } == ["a", "b", "c"])
    for socket in ["x", "y"] { #expect(try await house.curl(socket) == 503, "\(socket)") }
    try house.write(section("a", "x", "y"))
    let done = try await house.byway("reload")
    #expect(done.exitCode == 0, "\(done.errorText)")
    for socket in ["x", "y"] { #expect(try await house.curl(socket) == 503, "\(socket)") }
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("renewed certificates take effect only if the whole new file is valid")
  func certificates() async throws {
    let house = try House()
    let ca = try await Certificates()
    func install(_ identity: Certificates.Identity) throws {
      for (path, name) in [(identity.cert, "cert"), (identity.key, "key")] {
        try house.folder.write(try String(contentsOfFile: path, encoding: .utf8), to: name)
      }
      chmod(house.folder["key"], 0o600)
    }
    func text(_ more: String) -> String {
      """
      [gateway a]
      origin = http://127.0.0.1:1
      link = tls://127.0.0.1:0?cert=\(house.folder["cert"])&key=\(house.folder["key"])
      [gateway b]
      origin = http://127.0.0.1:1
      link = unix:\(house.folder["b"])
      \(more)
      """
    }
    try install(try await ca.issue("old", names: "DNS:old.example"))
    let gateway = try await house.gateway(text(""))
    let place = try #require(gateway.ready.split(separator: "?").first?.split(separator: " ").last)
    func answers(as name: String) async throws -> Bool {
      let link = "\(place)?ca=\(ca.authority)&name=\(name)"
      // The gateway reports that the origin is down.
      let result = try await BywayProcess.run(["request", "--link", link, "http://device/"])
      return result.errorText.contains("Nothing listens at http://127.0.0.1:1")
    }
    #expect(try await answers(as: "old.example"))
    try install(try await ca.issue("new", names: "DNS:new.example"))
    try house.write(text("link = unix:/none/such"))
    #expect(try await house.byway("reload").exitCode != 0)
    #expect(try await answers(as: "old.example"))
    try house.write(text(""))
    #expect(try await house.byway("reload").exitCode == 0)
    #expect(try await answers(as: "new.example"))
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("a reload keeps a log level set by hand and the origin's state, unless the file changes them")
  func untouched() async throws {
    let house = try House()
    let origin = try await OriginServer(on: .unix(house.folder["o"]))
    func text(_ more: String) -> String {
      "origin = \(origin.endpoint)\nlink = unix:\(house.folder["l"])\n\(more)"
    }
    let gateway = try await house.gateway(text(""))
    #expect(try await house.curl("l") == 200)
    #expect(try await house.byway("log-level", "warning").exitCode == 0)
    try house.write(text("response-timeout = 30\n"))
    #expect(try await house.byway("reload").exitCode == 0)
    #expect(try await house.origins().first?["state"]?.text == "reachable")
    #expect(String(decoding: try await house.byway("log-level").output, as: UTF8.self) == "warning\n")
    try house.write(text("log-level = debug\n"))
    #expect(try await house.byway("reload").exitCode == 0)
    #expect(String(decoding: try await house.byway("log-level").output, as: UTF8.self) == "debug\n")
    #expect(await gateway.process.stop() == .code(0))
    await origin.stop()
  }

  @Test("byway reload exits with the status of the error, and lists each error on its own line")
  func status() async throws {
    let house = try House()
    let sound = "origin = http://127.0.0.1:1\nlink = unix:\(house.folder["l"])\n"
    let gateway = try await house.gateway(sound)
    try house.write("\(sound)nonsense = 1\ndrain = soon\n")
    let wrong = try await house.byway("reload")
    #expect(wrong.exitCode == 64)
    let lines = wrong.errorText.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("byway: hall: ") }, "\(wrong.errorText)")
    try house.write("\(sound)stub = \(house.folder["none"])\n")
    #expect(try await house.byway("reload").exitCode == 66)
    #expect(await gateway.process.stop() == .code(0))
  }
}
