import Byway
import Foundation
import LoopbackTransport
import TCPTransport
import TestTools
import Testing

@testable import BywayCommand
@testable import BywayDaemon
@testable import BywayDaemonProcess

extension Parsing {
  /// Files with several gateways or proxies, and messages about errors in them.
  @Suite("Configuration files with sections") struct ConfigurationTests {
    private let transports = TransportRegistry([LoopbackTransport()])

    private func plan(
      _ text: String, _ arguments: [String] = [], in transports: TransportRegistry? = nil
    ) throws -> CommandPlan<ProxyCommand> {
      let transports = transports ?? self.transports
      let folder = try TemporaryFolder()
      let path = try folder.write(text, to: "p.conf")
      let source = CommandPlan<ProxyCommand>.Source(file: path, arguments: arguments, transports: transports)
      return try source.read(given: ProxyCommand.parse(arguments))
    }

    /// Returns the messages about a file, without its folder.
    private func messages(
      _ text: String, _ arguments: [String] = [], in transports: TransportRegistry? = nil
    ) throws -> [String] {
      do {
        try plan(text, arguments, in: transports).check(transports ?? self.transports)
        return []
      } catch {
        let failures = (error as? ConfigurationErrors)?.failures ?? [error.asFailure]
        return failures.map { String($0.message.replacing(/\/[^ ]*\/p\.conf/, with: "p.conf")) }
      }
    }

    @Test("each section is a separate proxy, and settings before the sections are their defaults")
    func sections() throws {
      let plan = try plan(
        """
        drain = 3
        link-timeout = 2
        name = all.example
        [proxy printer]
        link = loopback:a
        listen = loopback:pa
        # its own
        link-timeout = 7
        [ proxy  camera ]
        link = loopback:b
        listen = loopback:pb
        name = camera.example
        name = cam.example
        """)
      #expect(try plan.forDaemon(transports).settings.drain == .seconds(3))
      #expect(plan.members.map(\.name) == ["printer", "camera"])
      let configurations = plan.members.map(\.member.configuration)
      #expect(configurations.map(\.devices.main.first?.address.text) == ["loopback:a", "loopback:b"])
      #expect(configurations.map(\.patience) == [.seconds(7), .seconds(2)])
      #expect(configurations.map(\.names) == [["all.example"], ["camera.example", "cam.example"]])
    }

    @Test("a file without sections configures one proxy, and the command line takes precedence")
    func plain() throws {
      let plan = try plan(
        "link = loopback:a\nlisten = loopback:pa\ndrain = 1", ["--drain", "2", "--link", "loopback:c"])
      #expect(plan.members.map(\.name) == [""])
      #expect(plan.members.first?.member.configuration.devices.main.first?.address.text == "loopback:c")
      #expect(try plan.forDaemon(transports).settings.drain == .seconds(2))
    }

    @Test("all errors in a file are reported, in the order of lines")
    func everything() throws {
      #expect(
        try messages(
          """
          listn = 3
          drain = soon
          [gateway x]
          [proxy a
          [proxy b]
          link = lopback:x
          drain = 3
          [proxy b]
          nonsense
          """) == [
            "p.conf, line 1: Unknown option \"listn\". Did you mean \"listen\"?",
            "p.conf, line 2: The value 'soon' is invalid for '--drain <seconds>'. Write a number of seconds, such as 5 or 0.5.",
            "p.conf, line 3: [gateway x] is for byway gateway, and this file is one of a proxy: write it into a file of its own.",
            "p.conf, line 4: [proxy a is not the beginning of a section: write [proxy NAME], with letters, digits, -, _ and dots.",
            "p.conf, line 6: link: Unknown link scheme \"lopback\". Did you mean \"loopback\"? Known: loopback.",
            "p.conf, line 7: drain holds for the whole daemon: put it before the first section of the file.",
            "p.conf, line 8: b is already the name of the section on line 5: choose another.",
            "p.conf, line 9: \"nonsense\" is not a setting: write name = value.",
          ])
    }

    @Test("a section for another daemon is one error, and its settings belong to no other section")
    func foreign() throws {
      #expect(
        try messages(
          """
          [proxy a]
          link = loopback:a
          listen = loopback:pa
          [gateway b]
          link = loopback:b
          origin = 80
          lnik = 3
          [proxy c]
          link = loopback:c
          lisen = loopback:pc
          """) == [
            "p.conf, line 4: [gateway b] is for byway gateway, and this file is one of a proxy: write it into a file of its own.",
            "p.conf, line 10: Unknown option \"lisen\" in [proxy c]. Did you mean \"listen\"?",
          ])
      let first = try messages(
        "[gateway b]\nlink = loopback:b\norigin = 80\n[proxy a]\nlink = loopback:a\nlisten = loopback:p\n")
      #expect(first.map { $0.prefix(27) } == ["p.conf, line 1: [gateway b]"], "\(first)")
      let file = ConfigurationFile("[device d]\nlink = x\n", path: "g.conf", sections: ["gateway", "interceptor"])
      #expect(
        file.failures.map(\.failure.message) == [
          "g.conf, line 1: [device d] is for byway proxy, and this file is one of a gateway: write it into a file of its own."
        ])
      #expect(file.entries.isEmpty)
      let other = ConfigurationFile("[hall d]\n", path: "g.conf", sections: ["gateway", "interceptor"])
      #expect(
        other.failures.first?.failure.message
          == "g.conf, line 1: \"hall\" is not a kind of section here: write [gateway d].")
    }

    @Test("an unknown option is reported with its section")
    func unknown() throws {
      #expect(
        try messages("[proxy a]\nlisten = loopback:p\nlnik = loopback:x").first
          == "p.conf, line 3: Unknown option \"lnik\" in [proxy a]. Did you mean \"link\"?")
    }

    @Test("an error without a line is reported with its section")
    func whole() throws {
      #expect(
        try messages(
          "[proxy a]\nlink = loopback:a\n[proxy b]\nlisten = loopback:p\nlink = loopback:b\ninspect-tls = x.y"
        )
        .first
          == "p.conf, [proxy a]: No address is given for clients: add listen, for example listen = 127.0.0.1:8080.")
      #expect(
        try messages("[proxy a]\nlink = loopback:a\nlisten = loopback:p\nstub = /nonexistent/stub").first?
          .contains("/nonexistent/stub") == true)
    }

    @Test("files that a start would read or create are checked, and errors reported with their line")
    func world() throws {
      let folder = try TemporaryFolder()
      let missing = """
        [proxy a]
        listen = loopback:pa
        stub = /none/stub
        [proxy b]
        listen = loopback:pb
        trace = /none/trace.har
        """
      #expect(
        try messages(
          """
          max-connections = 0
          access-log = /none/access.log
          link = loopback:a
          \(missing)
          """) == [
            "p.conf, line 1: max-connections is 0: allow at least one.",
            "p.conf, line 2: access-log: Cannot create /none/access.log: No such file or directory.",
            "p.conf, line 6: stub: Cannot read /none/stub: No such file or directory.",
            "p.conf, line 9: trace: Cannot create /none/trace.har: No such file or directory.",
          ])
      #expect(
        try messages(
          """
          access-log = /none/access.log
          link = loopback:a
          trace = \(folder["t.har"])
          \(missing)
          cache = /none/cache/deep
          record = \(folder.path)/records
          """) == [
            "p.conf, line 1: access-log: Cannot create /none/access.log: No such file or directory.",
            "p.conf, line 6: stub: Cannot read /none/stub: No such file or directory.",
            "p.conf, line 9: trace: Cannot create /none/trace.har: No such file or directory.",
            "p.conf, line 10: cache: Cannot create /none/cache/deep: No such file or directory.",
          ])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("two settings with the same address, metrics included, are reported with both lines")
    func clashes() throws {
      let transports = TransportRegistry([LoopbackTransport(), TCPTransport()])
      func messages(_ text: String) throws -> [String] { try self.messages(text, in: transports) }
      #expect(
        try messages(
          """
          metrics = 127.0.0.1:9464
          link = loopback:a
          [proxy a]
          listen = localhost:9464
          [proxy b]
          listen = 127.0.0.1:8080
          [proxy c]
          listen = 0.0.0.0:8080
          listen-anywhere = yes
          [proxy d]
          listen = 127.0.0.1:0
          [proxy e]
          listen = 127.0.0.1:0
          """) == [
            "p.conf, line 1: metrics: tcp://127.0.0.1:9464 is taken by line 4: choose another place for one of them.",
            "p.conf, line 8: listen: tcp://0.0.0.0:8080 is taken by line 6: choose another place for one of them.",
          ])
    }

    @Test("two users of one serial line, or a hub on a listener's address, are reported")
    func lines() throws {
      let transports = TransportRegistry([LoopbackTransport(), TCPTransport()])
      #expect(
        try messages(
          """
          [device printer]
          link = tcp://127.0.0.1:7001?line=115200
          [proxy a]
          listen = 127.0.0.1:8080
          [proxy b]
          listen = 127.0.0.1:8081
          hub = tcp://127.0.0.1:8080
          """, in: transports) == [
            "p.conf, line 2: device: tcp://127.0.0.1:7001 is one line, which [proxy a] has: a line has one user.",
            "p.conf, line 7: hub: tcp://127.0.0.1:8080 is taken by line 4: choose another place for one of them.",
          ])
    }

    @Test("an option on the command line is refused where it is ambiguous among several sections")
    func ambiguous() throws {
      let text = "[proxy a]\nlink = loopback:a\nlisten = loopback:p\n[proxy b]\nlink = loopback:b\nlisten = loopback:q"
      #expect(
        try messages(text, ["--link=loopback:c"]) == [
          "--link on the command line would hold for each section of p.conf: put it into one of them."
        ])
      #expect(try messages(text, ["--drain", "3"]) == [])
    }

    @Test("a file of link names cannot have sections")
    func links() {
      let file = ConfigurationFile("[proxy a]\n", path: "links")
      #expect(file.failures.first?.failure.message == "links, line 1: this file has no sections: leave [proxy a] out.")
    }
  }
}
