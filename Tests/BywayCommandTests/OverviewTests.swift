import Byway
import BywayPrimitives
import BywayTerminal
import Foundation
import TestPeers
import TestTools
import Testing

@testable import BywayCommand

/// The output of `byway` without arguments.
@Suite("Overview of byway without arguments", .cleansUp) struct OverviewTests {
  private static let adapter = LinkPort(
    address: "serial:usb:0403:6001:A50285BI", device: "/dev/ttyUSB0", name: "FTDI FT232R USB UART")
  private static let uart = LinkPort(address: "serial:/dev/ttyS0", device: "/dev/ttyS0")

  private func lines(
    _ daemons: [Overview.Daemon], _ ports: [LinkPort], service: Bool = false, isRoot: Bool = false
  ) -> [String] {
    Overview(daemons, ports: ports, service: service, isRoot: isRoot, style: TextStyle(isColourful: false)).lines
  }

  private func proxy(
    _ links: [JSON], name: String = "local", listens: String = "http://127.0.0.1:8080"
  ) -> Overview.Daemon {
    let member: JSON = ["name": "", "listens": [.string(listens)], "links": .array(links), "origins": []]
    return .status(["name": .string(name), "kind": "proxy", "version": "1", "members": [member]])
  }

  @Test("if nothing runs and nothing is plugged in, the overview shows how to begin")
  func nothing() {
    #expect(
      lines([], [Self.uart]) == [
        "No gateway or proxy runs here.", "No USB adapter is plugged in.", "Next:",
        "  byway proxy --listen 8080 --discover serial  makes each adapter a device in the browser",
        "  byway demo                                   shows a link without any hardware",
        "  byway help                                   lists all commands",
      ])
  }

  @Test("an adapter without a proxy is shown with the command that starts one", arguments: [true, false])
  func unused(_ isRoot: Bool) {
    let lines = lines([], [Self.uart, Self.adapter], service: true, isRoot: isRoot)
    #expect(lines[1] == "serial:usb:0403:6001:A50285BI  FTDI FT232R USB UART  no daemon uses it")
    #expect(lines[3].hasPrefix("  \(isRoot ? "" : "sudo ")systemctl enable --now byway-proxy@local  "))
    #expect(lines[4].hasPrefix("  byway doctor serial:usb:0403:6001:A50285BI  "))
    #expect(lines.count == 6)
  }

  @Test("an adapter that a proxy serves is shown with its device and the page's URL")
  func served() {
    let links: [JSON] = [
      ["name": "unix:/c", "device": "camera", "state": "idle"],
      ["name": "serial:usb:0403:6001:A50285BI", "device": "printer", "state": "up"],
    ]
    #expect(
      lines([proxy(links)], [Self.adapter]) == [
        "local: proxy on http://127.0.0.1:8080, device camera idle, device printer up",
        "serial:usb:0403:6001:A50285BI  FTDI FT232R USB UART  device printer of local", "Next:",
        "  curl http://printer.localhost:8080/  is the page of printer",
        "  byway status                         shows links, origins and requests",
        "  byway help                           lists all commands",
      ])
  }

  @Test(
    "a port in use is recognized by every address that leads to it",
    arguments: [
      ("serial:usb:0403:6001:A50285BI", true), ("serial:usb:0403:6001", true), ("serial:usb:0403:600", false),
      ("serial:/dev/ttyUSB0", true), ("serial:/dev/ttyUSB1", false), ("unix:/dev/ttyUSB0", false), ("", false),
    ])
  func addresses(_ link: String, _ isUsed: Bool) {
    let lines = lines([proxy([["name": .string(link), "state": "idle"]])], [Self.adapter])
    #expect(lines[1].hasSuffix(isUsed ? "  link of local" : "  no daemon uses it"), "\(lines)")
    #expect(lines.contains { $0.contains("byway doctor serial:usb:0403:6001:A50285BI") } == !isUsed)
  }

  @Test("a port in use is recognized by a symbolic link to it, and by one of several links of a device")
  func indirect() throws {
    let folder = try TemporaryFolder()
    let port = try folder.write("", to: "tty")
    symlink(port, folder["printer"])
    let link: JSON = ["name": .string("serial:\(folder["printer"])"), "state": "down"]
    let device: JSON = [
      "name": "unix:/a", "device": "printer", "state": "up", "links": [["name": "unix:/a", "state": "up"], link],
    ]
    let lines = lines([proxy([device])], [LinkPort(address: "serial:usb:1:2", device: port)])
    #expect(lines[1] == "serial:usb:1:2  device printer of local")
    #expect(lines[4].hasPrefix("  byway doctor serial:\(folder["printer"])  finds out"))
  }

  @Test("the overview does not guess which adapters a daemon of another user has")
  func silent() {
    let lines = lines([.silent(name: "local", reason: "runs as another user")], [Self.adapter])
    #expect(
      lines == [
        "local: runs as another user", "serial:usb:0403:6001:A50285BI  FTDI FT232R USB UART", "Next:",
        "  sudo byway  also asks the daemons of the system", "  byway help  lists all commands",
      ])
  }

  @Test("an adapter in use by another program is shown with the reason, and not examined")
  func busy() {
    var port = Self.adapter
    port.unavailableReason = "in use by process 7 (picocom)"
    let lines = lines([], [port])
    #expect(lines[1].hasSuffix("  in use by process 7 (picocom)") && !lines.contains { $0.contains("doctor") })
  }

  @Test(
    "the page of a proxy is shown for each kind of address",
    arguments: [
      ("http://127.0.0.1:8080", "curl http://localhost:8080/  lists"),
      ("http://[::1]:80", "curl http://localhost:80/  "),
      ("unix:/run/p", "curl --unix-socket /run/p http://localhost/  "),
      ("http://0.0.0.0:81", "curl http://localhost:81/  "),
      ("https://192.0.2.1:443", "curl https://192.0.2.1:443/  "), ("fd:http", nil),
    ] as [(String, String?)])
  func addressesOfPages(_ listens: String, _ command: String?) {
    let line = lines([proxy([], listens: listens)], [])[3]
    #expect(command.map { line.hasPrefix("  \($0)") } ?? line.hasPrefix("  byway status"), "\(line)")
  }

  @Test("with many daemons and adapters, the overview has ten lines and counts the others")
  func many() {
    let daemons = (0..<50).map { proxy([["name": "unix:/a", "state": "down"]], name: "p\($0)") }
    let ports = (0..<9).map { LinkPort(address: "serial:usb:1:2:\($0)", device: "/dev/ttyUSB\($0)", name: "A") }
    let lines = lines(daemons, ports)
    #expect(lines.count == 10, "\(lines)")
    #expect(lines[2] == "and 48 more daemons: byway status" && lines[5] == "and 7 more adapters: byway ports")
    let links = (0..<9).map { ["name": .string("unix:/\($0)"), "state": "up"] as JSON }
    #expect(self.lines([proxy(links)], [])[0].hasSuffix("link unix:/2 up, 6 more"))
  }

  @Test("text from a daemon cannot contain control sequences for the terminal")
  func hostile() {
    let links: [JSON] = [["name": "unix:/\u{1B}[2J", "device": "\u{1B}]0;x\u{7}", "state": "\u{9B}31m"]]
    let lines = lines([proxy(links, name: "\u{1B}c", listens: "http://\u{1B}[31m:80")], [])
    #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }, "\(lines)")
  }

  private struct Run: Decodable {
    let output: String
    let status: Int
  }

  @Test("byway shows the overview in a terminal only, with the daemons of this user")
  func terminal() async throws {
    let folder = try TemporaryFolder()
    let environment = ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""]
    let proxy = try await BywayProcess.proxy(
      ["--link", "unix:\(folder["l"])", "--listen", "unix:\(folder["p"])", "--instance", "desk"],
      environment: environment)
    _ = Ending { await proxy.process.stop() }
    let run: Run = try await Script.terminal.run(
      "100", "--", "/usr/bin/env", "XDG_RUNTIME_DIR=\(folder.path)", "NO_COLOR=1", BywayProcess.command())
    let lines = run.output.split(whereSeparator: \.isNewline)
    #expect(run.status == 0 && lines.count <= 10, "\(run.output)")
    #expect(lines.first == "desk: proxy on unix:\(folder["p"]), link unix:\(folder["l"]) idle", "\(run.output)")
    #expect(lines.contains { $0.hasPrefix("  curl --unix-socket \(folder["p"]) http://localhost/") }, "\(run.output)")
    #expect(lines.last?.hasPrefix("  byway help") == true, "\(run.output)")

    let piped = try await BywayProcess.run([], environment: environment)
    #expect(piped.exitCode == 0 && String(decoding: piped.output, as: UTF8.self).contains("USAGE: byway <subcommand>"))
  }
}
