import Foundation
import TestPeers
import TestTools
import Testing

@testable import BywayCommand

/// Files of link names.
@Suite("Named links", .cleansUp) struct LinksTests {
  private let home: BywayHome

  init() throws {
    home = try BywayHome()
    try FileManager.default.createDirectory(atPath: home.folder["byway"], withIntermediateDirectories: true)
  }

  @Test("a link name is accepted wherever a link address is, in options and in BYWAY_LINK")
  func names() async throws {
    let gateway = try await BareGateway()
    try home.folder.write("# mine\nprinter = unix:\(gateway.socket)\n", to: "byway/links")
    #expect(try await home.byway("request", "--link", "printer", "/").text == "hello, byway\n")
    var environment = home.environment
    environment["BYWAY_LINK"] = "printer"
    #expect(try await BywayProcess.run(["request", "/"], environment: environment).text == "hello, byway\n")
    let ping = try await home.byway("ping", "-c", "1", "--link", "printer?http=1.1")
    #expect(ping.exitCode == 64 && ping.errorText.contains("http=1.1"), "\(ping.errorText)")
    let proxy = try await BywayProcess.proxy(
      ["--link", "printer", "--listen", "127.0.0.1:0"], environment: home.environment)
    #expect(try await Curl.fetch("http://\(proxy.endpoint())/").text == "hello, byway\n")
    await proxy.process.stop()
  }

  @Test("byway links lists each named link with its state")
  func list() async throws {
    let gateway = try await BareGateway()
    try home.folder.write(
      "there = unix:\(gateway.socket)\ngone = unix:/nowhere/l\nfar = tcp://127.0.0.1:1\nusb = serial:usb:dead:beef\nodd = unx:/x\n",
      to: "byway/links")
    let list = try await home.byway("links")
    #expect(list.exitCode == 0)
    let lines = list.text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).map(String.init) }
    #expect(lines.compactMap(\.first) == ["far", "gone", "odd", "there", "usb"])
    let states = ["not tried", "no such socket", "Did you mean \"unix\"?", "there", "not plugged in"]
    for (line, state) in zip(lines, states) { #expect(line.last?.contains(state) == true, "\(line)") }
    let pinged = try await home.byway("links", "--ping").text
    #expect(pinged.contains("answers in ") && pinged.contains("Nothing listens on tcp://127.0.0.1:1"), "\(pinged)")
  }

  @Test("the pattern {name} makes a device of every named link, and an explicit device takes precedence")
  func devices() async throws {
    let gateway = try await BareGateway()
    try home.folder.write(
      "printer = unix:\(gateway.socket)\ncamera = unix:/nowhere/c\nno_name = unix:/nowhere/n\nbyway = unix:/nowhere/b\n",
      to: "byway/links")
    let proxy = try await BywayProcess.proxy(
      ["--device", "{name}", "--device", "camera=unix:/nowhere/mine", "--listen", "127.0.0.1:0"],
      environment: home.environment)
    let list = try await Curl.fetch("http://\(proxy.endpoint())/devices.json").text
    #expect(list.contains("\"printer\"") && list.contains("/nowhere/mine"), "\(list)")
    #expect(!["no_name", "/nowhere/c", "/nowhere/b"].contains(where: list.contains), "\(list)")
    let page = try await Curl.fetch("http://\(proxy.endpoint())/", "-H", "Host: printer.localhost")
    #expect(page.text == "hello, byway\n")
    await proxy.process.stop()
  }

  @Test("byway help links lists the forms of addresses, and byway links --options the options of a scheme")
  func schemes() async throws {
    let help = try await home.byway("help", "links").text
    let transports = [
      "can", "exec", "fd", "loopback", "mqtt", "mqtts", "rfcomm", "serial", "ssh", "stdio", "tcp", "tls", "unix", "usb",
      "usb-gadget", "virtio",
      "vsock", "ws", "wss",
    ]
    for scheme in transports { #expect(help.contains("\n  \(scheme):"), "\(scheme) in \(help)") }
    let options = try await home.byway("links", "--options", "Unix:")
    let names = options.text.split(separator: "\n").compactMap { $0.split(separator: " ").first }
    #expect(names.contains("mode") && names.contains("http") && names.last == "jitter", "\(options.text)")
    let unknown = try await home.byway("links", "--options", "seriel")
    #expect(unknown.exitCode == 64 && unknown.errorText.contains("Did you mean \"serial\"?"), "\(unknown.errorText)")
  }

  @Test("byway links without any names explains where to define them")
  func none() async throws {
    let list = try await home.byway("links")
    #expect(list.exitCode == 0)
    #expect(list.errorText.contains("~/.config/byway/links") || !list.text.isEmpty)
  }

  @Test(
    "an error in a file of link names is reported with file and line",
    arguments: [
      ("a b = unix:/x\n", "links, line 1: \"a b\" cannot be a link's name"),
      ("a = unix:/x\n\na = unix:/y\n", "links, line 3: a is already the name of a link on line 1"),
      ("printr = unx:/x\n", "links, line 1: Unknown link scheme \"unx\"."),
      ("printer = unix:/x\n", "No link is called \"printr\". Did you mean \"printer\"?"),
      (
        "printr = \"unix:/x\"\n",
        "links, line 1: the value of printr is in quotation marks: leave them out and write printr = unix:/x."
      ),
    ])
  func mistakes(_ text: String, _ message: String) async throws {
    try home.folder.write(text, to: "byway/links")
    let result = try await home.byway("request", "--link", "printr", "/")
    #expect(result.exitCode == 64)
    #expect(result.errorText.contains(message), "\(result.errorText)")
  }

  @Test("a file of link names that other users can write to is refused, as a link may be a command")
  func open() async throws {
    let path = try home.folder.write("a = exec:true\n", to: "byway/links")
    try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
    let result = try await home.byway("request", "--link", "a", "/")
    #expect(result.exitCode == 66)
    #expect(result.errorText.contains("Others can write to"), "\(result.errorText)")
  }

  @Test("the first file that defines a name takes precedence")
  func precedence() throws {
    let mine = try home.folder.write("a = unix:/mine\n", to: "mine")
    let machine = try home.folder.write("a = unix:/machine\nb = unix:/b\n", to: "machine")
    let namedLinks = try NamedLinks(files: [mine, machine])
    #expect(namedLinks.entries.map(\.address) == ["unix:/mine", "unix:/b"])
  }
}
