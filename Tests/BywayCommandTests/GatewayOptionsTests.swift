import ArgumentParser
import Byway
import BywayDevices
import BywayTerminal
import Logging
import LoopbackTransport
import Testing

@testable import BywayCommand
@testable import BywayDaemon
@testable import BywayGatewayProgram

extension Parsing {
  @Suite("Gateway options") struct GatewayOptionsTests {
    private let transports = TransportRegistry([LoopbackTransport()])
    private let logger = Logger(label: "test")

    private func options(_ arguments: String...) throws -> GatewayOptions {
      try GatewayOptions.parse(arguments)
    }

    private func command(file text: String, beneath arguments: String...) throws -> GatewayCommand {
      let file = ConfigurationFile(text, path: "g.conf", sections: ["gateway"])
      var reader = ConfigurationReader<GatewayCommand>(file, beneath: arguments, transports: transports)
      guard let command = reader.command(of: nil) else { throw try #require(reader.flaws.first?.failure) }
      return command
    }

    @Test("the file accepts every long option")
    func everyName() throws {
      let file = try command(
        file: """
          # the device
          link = loopback:a
            link=loopback:b?http=2

          origin = http://127.0.0.1:80
          allow = *.example.com:443
          name = printer
          title = Printer in the hall
          forwarded = yes
          drain = 2.5
          connect-timeout = 3
          response-timeout = 4
          body-timeout = 5
          max-connections = 6
          log-level = debug
          trace = /t.har
          stub = /stubs
          record = /record
          replay = /replay
          auth = /netrc
          compress = yes
          upstream-proxy = http://127.0.0.1:3128
          trust = /a.pem
          trust = /b.pem
          client-cert = /me.pem
          client-key = /me.key
          peer-name = site.example
          peer-address = 203.0.113.7
          """)
      #expect(file.member.upstreamProxy == "http://127.0.0.1:3128")
      #expect(file.member.peer.trust == ["/a.pem", "/b.pem"])
      #expect(file.member.peer.clientCert == "/me.pem" && file.member.peer.clientKey == "/me.key")
      #expect(file.member.peer.peerName == "site.example" && file.member.peer.peerAddress == "203.0.113.7")
      #expect(file.member.interceptors.trace == "/t.har")
      #expect(file.member.interceptors.stub == "/stubs")
      #expect(file.member.interceptors.record == "/record")
      #expect(file.member.interceptors.replay == "/replay")
      #expect(file.member.interceptors.auth == "/netrc")
      #expect(file.member.interceptors.compress)
      #expect(file.member.link == ["loopback:a", "loopback:b?http=2"])
      #expect(file.member.origin == "http://127.0.0.1:80")
      #expect(file.member.allow == ["*.example.com:443"])
      #expect(file.member.name == "printer" && file.member.title == "Printer in the hall")
      #expect(file.member.forwarded)
      #expect(file.daemon.drain?.amount == .milliseconds(2500))
      #expect(file.member.connectTimeout?.amount == .seconds(3))
      #expect(file.member.responseTimeout?.amount == .seconds(4))
      #expect(file.member.bodyTimeout?.amount == .seconds(5))
      #expect(file.member.maxConnections == 6)
      #expect(file.daemon.logLevel == .debug)
    }

    @Test("the command line takes precedence over the file for each option")
    func precedence() throws {
      let text = """
        link = loopback:file
        origin = unix:/file
        allow = file:1
        drain = 1
        connect-timeout = 1
        response-timeout = 1
        body-timeout = 1
        log-level = error
        """
      let file = try command(file: text)
      let merged = try command(
        file: text, beneath: "--config", "g.conf", "--link", "loopback:flag", "--origin=unix:/flag", "--allow",
        "flag:1",
        "--drain", "2", "--connect-timeout", "2", "--response-timeout=2", "--body-timeout", "2", "--log-level", "trace")
      #expect(merged.member.link == ["loopback:flag"])
      #expect(merged.member.origin == "unix:/flag")
      #expect(merged.member.allow == ["flag:1"])
      let mergedTimes = [
        merged.daemon.drain, merged.member.connectTimeout, merged.member.responseTimeout, merged.member.bodyTimeout,
      ]
      #expect(mergedTimes.allSatisfy { $0 == Seconds(2) })
      #expect(merged.daemon.logLevel == .trace)

      let silent = try command(file: text, beneath: "--config=g.conf", "--forwarded")
      #expect(silent.member.forwarded)
      #expect(
        silent.member.link == file.member.link && silent.member.origin == file.member.origin
          && silent.member.allow == file.member.allow)
      let silentTimes = [
        silent.daemon.drain, silent.member.connectTimeout, silent.member.responseTimeout, silent.member.bodyTimeout,
      ]
      #expect(silentTimes.allSatisfy { $0 == Seconds(1) })
      #expect(silent.daemon.logLevel == .error)
    }

    @Test(
      "an invalid line is reported with a suggestion",
      arguments: [
        (
          "link = loopback:x\norgin = y",
          "g.conf, line 2: Unknown option \"orgin\". Did you mean \"origin\"?"
        ),
        ("drain = soon", "g.conf, line 1: The value 'soon' is invalid for '--drain <seconds>'"),
        ("log-level = loud", "g.conf, line 1: The value 'loud' is invalid for '--log-level <level>'"),
        ("forwarded = maybe", "g.conf, line 1: forwarded is yes or no, not \"maybe\"."),
        ("link", "g.conf, line 1: \"link\" is not a setting: write name = value."),
        ("link =", "g.conf, line 1: \"link =\" is not a setting: write name = value."),
        (
          "origin = \"http://x\"",
          "g.conf, line 1: the value of origin is in quotation marks: leave them out and write origin = http://x."
        ),
        (
          "origin = http://x # the printer",
          "g.conf, line 1: the value of origin has a # in it: a comment must be on a line of its own."
        ),
        ("= x", "g.conf, line 1: \"= x\" is not a setting: write name = value."),
        (
          "origin = unix:a\nlink = loopback:x\norigin = unix:b",
          "g.conf, line 3: origin is already set on line 1: leave one of them out."
        ),
        ("config = other", "g.conf, line 1: Unknown option \"config\"."),
        ("help = x", "g.conf, line 1: Unknown option \"help\"."),
      ])
    func wrongLines(_ text: String, _ message: String) throws {
      let failure = try #require(throws: CommandFailure.self) { try command(file: text) }
      #expect(failure.status == .usage)
      #expect(failure.message.hasPrefix(message))
    }

    @Test("the value no turns a flag off, and CR LF line ends are accepted")
    func forwardedOff() throws {
      let file = try command(file: "forwarded = no\r\ndrain = 7\r\n")
      #expect(!file.member.forwarded)
      #expect(file.daemon.drain == Seconds(7))
    }

    @Test("options map to the gateway's configuration")
    func configuration() throws {
      let configuration = try options(
        "--link", "loopback:a", "--link", "loopback:b", "--origin", "http://127.0.0.1:80", "--allow", "printer:631",
        "--forwarded", "--host-field", "origin", "--title-case", "--connect-timeout", "3", "--response-timeout", "0.5",
        "--body-timeout",
        "0.25", "--name", "Printer", "--title", "In the hall"
      ).configuration(transports: transports, logger: logger)
      #expect(configuration.links.map(\.address.text) == ["loopback:a", "loopback:b"])
      #expect(configuration.origin.text == "http://127.0.0.1:80")
      #expect(configuration.allowed.map(\.description) == ["printer:631"])
      #expect(configuration.addsForwarded)
      #expect(configuration.hostField == .origin)
      #expect(configuration.capitalizesFieldNames)
      #expect(configuration.claim == DeviceClaim(name: DeviceName("printer"), title: DeviceText("In the hall")))
      #expect(configuration.connectTimeout == .seconds(3))
      #expect(configuration.responseTimeout == .milliseconds(500))
      #expect(configuration.bodyTimeout == .milliseconds(250))
    }

    @Test(
      "a missing or contradictory option is a usage error",
      arguments: [
        [], ["--link", "loopback:a"], ["--origin", "unix:/x"],
        ["--link", "lopback:a", "--origin", "unix:/x"], ["--link", "loopback:a?x=1", "--origin", "unix:/x"],
        ["--link", "loopback:a?http=1.1", "--origin", "unix:/x"], ["--link", "loopback:a", "--origin", "htp://x"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--allow", "everything"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--name", "a.b"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--host-field", "u@host"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--name", ""],
        ["--link", "loopback:a", "--origin", "unix:/x", "--name", "xn--abc"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--name", "byway"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--title", "without a name"],
        ["--link", "loopback:a", "--origin", "unix:/x", "--name", "a", "--title", "two\nlines"],
      ])
    func unusable(_ arguments: [String]) throws {
      #expect {
        _ = try GatewayOptions.parse(arguments).configuration(transports: transports, logger: logger)
      } throws: { error in
        let status = (error as? CommandFailure)?.status ?? (error as? BywayError).map { ExitStatus($0.code) }
        return status == .usage
      }
    }

    @Test(
      "durations are decimal seconds",
      arguments: [("10", 10_000), ("0.25", 250), ("0", 0), (".5", 500)])
    func seconds(_ text: String, _ milliseconds: Int) {
      #expect(Seconds(argument: text)?.amount == .milliseconds(Int64(milliseconds)))
    }

    @Test(
      "a duration that is not a number of seconds, or is too large, is rejected",
      arguments: ["", "-1", "1s", "1e3", "nan", "inf", "0x10", ".", "1.2.3", "99999999999999999999"])
    func noSeconds(_ text: String) {
      #expect(Seconds(argument: text) == nil)
    }

    @Test(
      "an invalid value is reported with its line and option",
      arguments: [
        ("drain = 3\nlink = lopback:a", "g.conf, line 2: --link: Unknown link scheme \"lopback\""),
        ("link = loopback:a?x=1", "g.conf, line 1: --link: "),
        ("\n\nlink = loopback:a?http=1.1", "g.conf, line 3: --link: "),
        ("origin = htp://x", "g.conf, line 1: --origin: "),
        ("# x\nallow = everything", "g.conf, line 2: --allow: "),
        ("upstream-proxy = ftp://x", "g.conf, line 1: --upstream-proxy: "),
      ])
    func valueOfLine(_ file: String, _ place: String) throws {
      let failure = try #require(throws: CommandFailure.self) { try command(file: file) }
      #expect(failure.status == .usage)
      #expect(failure.message.hasPrefix(place), "\(failure.message)")
    }

    @Test("a value in the file is not parsed if the command line overrides it")
    func overruled() throws {
      let file = try command(file: "origin = htp://x", beneath: "--origin", "http://127.0.0.1:80")
      #expect(file.member.origin == "http://127.0.0.1:80")
    }

    @Test(
      "an invalid value on the command line is reported with its option",
      arguments: [("--origin", "localhost"), ("--allow", "all")])
    func namedOption(_ option: String, _ value: String) throws {
      let rest = option == "--origin" ? [] : ["--origin", "unix:/x"]
      let options = try GatewayOptions.parse(["--link", "loopback:a", option, value] + rest)
      let failure = try #require(throws: CommandFailure.self) {
        try options.configuration(transports: transports, logger: logger)
      }
      #expect(failure.message.hasPrefix("\(option): \"\(value)\" "), "\(failure.message)")
    }

    @Test("a memory budget of less than 1 MiB is refused")
    func smallBudget() throws {
      _ = try DaemonOptions.parse(["--memory-budget", "1M"])
      _ = try DaemonOptions.parse([])
      #expect(throws: (any Error).self) { try DaemonOptions.parse(["--memory-budget", "1048575"]) }
    }
  }
}
