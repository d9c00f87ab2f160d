import Byway
import LoopbackTransport
import NIOCore
import ProcessTransport
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemon
@testable import BywayDaemonProcess

/// The values of `--interceptor`, and sections of plugins in a file.
@Suite("Plugins on the command line") struct PluginArgumentTests {
  private static let transports = TransportRegistry([LoopbackTransport(), ExecTransport(), UnixTransport()])

  private func argument(_ text: String) throws -> PluginArgument { try PluginArgument(text, in: Self.transports) }

  @Test("the options of a plugin are separated from those of its link")
  func options() throws {
    let plugin = try argument(
      "unix:/run/a.sock?path=/api&http=1.1&host=a.example&host=*.b.example&method=GET&scheme=https&on-failure=bypass"
        + "&timeout=2.5&as=stamp&path=/x%26y")
    #expect(plugin.link.address.text == "unix:/run/a.sock?http=1.1" && plugin.link.framing == .http1)
    #expect(
      plugin.settings.scope
        == Scope(schemes: ["https"], hosts: ["a.example", "*.b.example"], paths: ["/api", "/x&y"], methods: [.get]))
    #expect(plugin.settings.onFailure == .bypass && plugin.settings.name == "stamp")
    #expect(plugin.settings.timeout == .milliseconds(2500))
  }

  @Test("a plugin without options gets all requests, and is named after its program or address")
  func defaults() throws {
    let program = try argument("exec:/opt/addons/stamp.py --pages")
    #expect(program.settings.name == "stamp.py" && program.settings.scope == .everything)
    #expect(program.settings.onFailure == .refuse && program.settings.timeout == .seconds(30))
    #expect(try argument("unix:/run/a.sock").settings.name == "unix:/run/a.sock")
  }

  @Test("a plugin cannot have the name of an interceptor of Byway", arguments: InterceptorOrder.builtIn)
  func reserved(_ name: String) {
    for text in ["unix:/run/a.sock?as=\(name)", "exec:/opt/\(name) --flag"] {
      #expect {
        try argument(text)
      } throws: { error in
        error.asFailure.message.hasPrefix("A plugin cannot be called \(name), ")
      }
    }
    #expect(throws: Never.self) { try argument("exec:/opt/\(name)?as=other") }
  }

  @Test("a question mark in a command counts only if options follow it")
  func commands() throws {
    #expect(try argument("exec:fetch http://x/?path=/a&b=c").link.address.path == "fetch http://x/?path=/a&b=c")
    let plugin = try argument("exec:fetch http://x/?q=1?path=/a")
    #expect(plugin.link.address.path == "fetch http://x/?q=1" && plugin.settings.scope.paths == ["/a"])
    #expect {
      try argument("exec:./a.py?pfad=/x")
    } throws: { error in
      error.asFailure.message.hasPrefix("Unknown option \"pfad\" of a plugin: write one of as, host, path,")
    }
    #expect(try argument("exec:./a.py?word").link.address.path == "./a.py?word")
  }

  @Test(
    "a wrong option is reported with what to write",
    arguments: [
      ("path=api", "slash"), ("on-failure=ignore", "on-failure=refuse"), ("timeout=0", "timeout=30"),
      ("timeout=soon", "timeout=30"), ("start=later", "start=now"), ("start=now", "exec:"), ("method=%20", "method"),
      ("scheme=ftp", "scheme=https"), ("as=a%20b", "as="),
      ("host=a%20b", "host="), ("open=listen", "open=listen"), ("paths=/a", "paths"), ("path=", "path="),
    ])
  func mistakes(_ option: String, _ hint: String) {
    #expect {
      try argument("unix:/run/a.sock?\(option)")
    } throws: { error in
      error.asFailure.message.contains(hint)
    }
  }

  @Test("a section in a file is a plugin for all members, in the order of the sections")
  func sections() throws {
    let file = ConfigurationFile(
      """
      listen = loopback:p
      [interceptor first]
      link = unix:/run/a.sock?http=1.1
      path = /a&b
      on-failure = bypass
      [interceptor second]
      link = exec:/opt/second
      [device printer]
      link = loopback:d
      """, path: "p.conf", sections: ["proxy", "device", "interceptor"]
    ).joining("interceptor", PluginArgument.names)
    #expect(file.failures.isEmpty)
    #expect(file.sections.map(\.name) == ["printer"])
    let values = file.entries.filter { $0.name == "interceptor" }.map(\.value)
    #expect(
      values == [
        "unix:/run/a.sock?http=1.1&path=/a%26b&on-failure=bypass&as=first", "exec:/opt/second?as=second",
      ])
    #expect(try values.map { try argument($0).settings.name } == ["first", "second"])
  }

  @Test(
    "an error in a section names its line",
    arguments: [("path = /a", "line 1", "no link"), ("link = unix:/a\ncolour = red", "line 3", "colour")])
  func sectionMistakes(_ settings: String, _ line: String, _ word: String) throws {
    let file = ConfigurationFile("[interceptor a]\n\(settings)", path: "p.conf", sections: ["proxy", "interceptor"])
      .joining("interceptor", PluginArgument.names)
    let message = try #require(file.failures.first?.failure.message)
    #expect(message.contains(line) && message.contains(word))
  }
}
