import ArgumentParser
import Byway
import LoopbackTransport
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand

extension Parsing {
  /// Devices as they are written on a command line and in a file.
  @Suite("Devices by name, as options") struct DeviceOptionsTests {
    private let transports = TransportRegistry([LoopbackTransport(), UnixTransport()])

    private func directory(_ words: String..., main: String? = nil) throws -> DeviceDirectory {
      try DeviceOptions.parse(words).directory(
        main: main.map { try transports.link($0) }, mostDialed: 0, in: transports)
    }

    @Test("links of one name are its roads, in their order; a comma may belong to an address")
    func roads() throws {
      let directory = try directory(
        "--device", "printer=unix:/run/a,b,loopback:c", "--device", "camera=loopback:d", "--device",
        "printer=loopback:e")
      let devices = directory.devices.map { ($0.name.text, $0.roads.map(\.address.text)) }
      #expect(devices.map(\.0) == ["printer", "camera"])
      #expect(devices.map(\.1) == [["unix:/run/a,b", "loopback:c", "loopback:e"], ["loopback:d"]])
      #expect(directory.main.isEmpty)
    }

    @Test("a title is a device's")
    func titles() throws {
      let directory = try directory(
        "--device", "printer=loopback:a", "--device-title", "printer=Printer = in the hall", main: "loopback:m")
      #expect(directory.devices.map(\.title) == ["Printer = in the hall"])
      #expect(directory.main.map(\.address.text) == ["loopback:m"])
      #expect(throws: CommandFailure.self) { try self.directory("--device-title", "camera=x") }
    }

    @Test(
      "what cannot be a device is told with what to write",
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

    @Test("a section of a file is a device of every proxy in it")
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
      #expect(directory.devices.map { $0.roads.count } == [2, 1])
    }

    @Test("what is wrong in a section is told with its line")
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

    private func plan(_ text: String) throws -> DaemonPlan<ProxyCommand> {
      let folder = try TemporaryFolder()
      let file = try folder.write(text, to: "p.conf")
      return try DaemonPlan<ProxyCommand>.Source(file: file, arguments: [], transports: transports).read(
        given: ProxyCommand.parse([]))
    }
  }
}
