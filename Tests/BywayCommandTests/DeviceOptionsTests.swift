import ArgumentParser
import Byway
import BywayDevices
import BywayTerminal
import LoopbackTransport
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemon
@testable import BywayDaemonProcess

extension Parsing {
  /// Devices on a command line and in a file.
  @Suite("Options for devices") struct DeviceOptionsTests {
    private let transports = TransportRegistry([LoopbackTransport(), UnixTransport()])

    private func directory(_ words: String..., main: String? = nil) throws -> DeviceDirectory {
      try DeviceOptions.parse(words).directory(
        main: main.map { try transports.link($0) }, mostDialed: 0, in: transports)
    }

    @Test("links of the same device name are alternatives in their order, and an address may contain a comma")
    func links() throws {
      let directory = try directory(
        "--device", "printer=unix:/run/a,b,loopback:c", "--device", "camera=loopback:d", "--device",
        "printer=loopback:e")
      let devices = directory.devices.map { ($0.name.text, $0.links.map(\.address.text)) }
      #expect(devices.map(\.0) == ["printer", "camera"])
      #expect(devices.map(\.1) == [["unix:/run/a,b", "loopback:c", "loopback:e"], ["loopback:d"]])
      #expect(directory.main.isEmpty)
    }

    @Test("a title belongs to its device")
    func titles() throws {
      let directory = try directory(
        "--device", "printer=loopback:a", "--device-title", "printer=Printer = in the hall", main: "loopback:m")
      #expect(directory.devices.map(\.title) == ["Printer = in the hall"])
      #expect(directory.main.map(\.address.text) == ["loopback:m"])
      #expect(throws: CommandFailure.self) { try self.directory("--device-title", "camera=x") }
    }

    @Test(
      "an invalid device is reported with the valid form",
      arguments: [
        ("printer", "No link is called \"printer\""), ("=loopback:a", "write NAME=LINK"),
        ("printer=", "write NAME=LINK"),
        ("a_b=loopback:a", "cannot be a device's name"), ("-x=loopback:a", "cannot be a device's name"),
        ("byway=loopback:a", "the list of devices"), ("printer=nothing:a", "Unknown link scheme"),
        ("{name}=loopback:a", "the same link for every name"), ("loopback:a", "write NAME=LINK"),
      ])
    func wrong(text: String, words: String) {
      #expect {
        _ = try directory("--device=\(text)")
      } throws: { error in
        let message = (error as? CommandFailure)?.message ?? (error as? BywayError)?.message ?? "\(error)"
        return message.contains(words)
      }
    }

    @Test("an unknown value of --discover is reported with the valid ones", arguments: ["usb", "usb0:/dev", "tcp"])
    func discovery(text: String) throws {
      let options = try DeviceOptions.parse(["--discover", text])
      let failure = try #require(throws: CommandFailure.self) { try options.check(in: transports) }
      #expect(
        failure.message
          == "--discover: \"\(text)\" is none of its values: write serial for adapters that are plugged in, "
          + "serial:/FOLDER for the ports in a folder, or dns-sd.")
    }

    @Test("a device section applies to every proxy in the file")
    func sections() throws {
      let plan = try plan(
        """
        listen = loopback:p
        [device printer]
        title = Printer in the hall
        link = loopback:a
        link = loopback:b
        [device camera]
        link = loopback:c
        """)
      let directory = try #require(plan.members.first?.member.configuration.devices)
      #expect(plan.members.count == 1)
      #expect(directory.devices.map(\.title) == ["Printer in the hall", nil])
      #expect(directory.devices.map { $0.links.count } == [2, 1])
    }

    @Test("an error in a section is reported with its line")
    func wrongSections() throws {
      let error = #expect(throws: ConfigurationErrors.self) {
        try plan("listen = loopback:p\n[device printer]\nlink = nothing:a\ncolour = red\n[device empty]\n")
      }
      let messages = error?.failures.map(\.message) ?? []
      #expect(messages.count == 3, "\(messages)")
      #expect(messages.contains { $0.contains("line 3") && $0.contains("Unknown link scheme") }, "\(messages)")
      #expect(messages.contains { $0.contains("line 4") && $0.contains("link and title are") }, "\(messages)")
      #expect(messages.contains { $0.contains("line 5") && $0.contains("is empty") }, "\(messages)")
    }

    private func plan(_ text: String) throws -> CommandPlan<ProxyCommand> {
      let folder = try TemporaryFolder()
      let file = try folder.write(text, to: "p.conf")
      return try CommandPlan<ProxyCommand>.Source(file: file, arguments: [], transports: transports).read(
        given: ProxyCommand.parse([]))
    }
  }
}
