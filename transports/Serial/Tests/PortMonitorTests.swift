import Byway
import Foundation
import Glibc
import Logging
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

/// Uses pseudo-terminals as adapters. They appear as links in a folder, as in /dev/serial/by-id.
@Suite("Monitor of serial ports", .timeLimit(.minutes(1))) struct PortMonitorTests {
  private func lists(in folder: String, _ query: String = "") throws -> AsyncStream<[LinkPort]> {
    try WatchedPorts("serial:\(folder)\(query)", transports: TransportRegistry([SerialTransport()]))
      .lists(logger: Logger(label: "test"))
  }

  @Test("the monitor lists the ports in a folder as links to them appear and disappear")
  func folder() async throws {
    try await withTemporaryFolder { folder in
      let (first, second) = (try PseudoTerminal(), try PseudoTerminal())
      try first.link(as: "\(folder)/printer")
      var lists = try lists(in: folder, "?baud=921600").makeAsyncIterator()
      let printer = LinkPort(address: "serial:\(folder)/printer?baud=921600", device: first.path, name: "printer")
      #expect(await lists.next() == [printer])
      try second.link(as: "\(folder)/camera")
      let camera = LinkPort(address: "serial:\(folder)/camera?baud=921600", device: second.path, name: "camera")
      #expect(await lists.next() == [camera, printer])
      unlink("\(folder)/printer")
      #expect(await lists.next() == [camera])
    }
  }

  @Test("the monitor omits files that are not ports, names that cannot be in an address, and duplicates")
  func others() async throws {
    try await withTemporaryFolder { folder in
      let terminal = try PseudoTerminal()
      for name in ["a", "b", ".hidden", "question?baud=1", "two words", "new\nline"] {
        try terminal.link(as: "\(folder)/\(name)")
      }
      symlink("/nonexistent", "\(folder)/dead")
      symlink("/etc/passwd", "\(folder)/file")
      var lists = try lists(in: folder).makeAsyncIterator()
      #expect(await lists.next()?.map(\.name) == ["a"])
    }
  }

  @Test("the monitor omits the port of a configured link, under any name, while that link is configured")
  func configured() async throws {
    try await withTemporaryFolder { folder in
      let (first, second) = (try PseudoTerminal(), try PseudoTerminal())
      try FileManager.default.createDirectory(atPath: "\(folder)/ports", withIntermediateDirectories: false)
      try first.link(as: "\(folder)/ports/a")
      try second.link(as: "\(folder)/ports/b")
      try first.link(as: "\(folder)/printer")
      let links = Mutex([try LinkAddress("serial:\(folder)/printer?baud=9600"), try LinkAddress("unix:/run/a.sock")])
      var lists = try WatchedPorts("serial:\(folder)/ports", transports: TransportRegistry([SerialTransport()]))
        .lists(besides: { links.withLock(\.self) }, logger: Logger(label: "test")).makeAsyncIterator()
      #expect(await lists.next()?.map(\.name) == ["b"])
      links.withLock { $0 = [] }
      #expect(await lists.next()?.map(\.name) == ["a", "b"])
    }
  }

  @Test("a missing folder has no ports until it exists")
  func missing() async throws {
    try await withTemporaryFolder { parent in
      let terminal = try PseudoTerminal()
      var lists = try lists(in: "\(parent)/ports").makeAsyncIterator()
      #expect(await lists.next()?.isEmpty == true)
      try FileManager.default.createDirectory(atPath: "\(parent)/ports", withIntermediateDirectories: false)
      try terminal.link(as: "\(parent)/ports/a")
      #expect(await lists.next()?.map(\.name) == ["a"])
    }
  }

  @Test("the monitor reports a port that another process has locked, but not one that this process has")
  func held() async throws {
    try await withTemporaryFolder { folder in
      let (own, others) = (try PseudoTerminal(), try PseudoTerminal())
      let descriptor = open(own.path, O_RDWR | O_NOCTTY)
      defer { close(descriptor) }
      try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      let holder = Process()
      holder.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
      let said = Pipe()
      holder.standardOutput = said
      holder.arguments = ["--no-fork", others.path, "sh", "-c", "echo locked; exec sleep 60"]
      try holder.run()
      defer {
        kill(holder.processIdentifier, SIGKILL)
        holder.waitUntilExit()
      }
      #expect(said.fileHandleForReading.readData(ofLength: 6) == Data("locked".utf8))
      try own.link(as: "\(folder)/a")
      try others.link(as: "\(folder)/b")
      var lists = try lists(in: folder).makeAsyncIterator()
      let ports = try #require(await lists.next())
      #expect(ports.map { $0.unavailableReason == nil } == [true, false])
      #expect(ports.last?.unavailableReason?.hasPrefix("in use by process") == true)
    }
  }

  @Test("the monitor lists USB adapters at once, without built-in ports")
  func usb() async throws {
    let watched = try WatchedPorts("serial", transports: TransportRegistry([SerialTransport()]))
    var lists = watched.lists(logger: Logger(label: "test")).makeAsyncIterator()
    let usb = PortList().all().filter { $0.usb != nil }.map(\.path)
    #expect(await lists.next()?.map(\.device) == usb)
  }

  @Test(
    "an address that cannot be monitored is refused, and the error names valid ones",
    arguments: [
      ("sreial", "Did you mean \"serial\"?"), ("serial:relative", "write serial, or serial:/FOLDER"),
      ("", "Known: serial"),
      ("serial?bund=1", "Did you mean \"baud\"?"), ("serial?baud=x", "baud"),
    ])
  func refused(_ text: String, _ advice: String) {
    let error = #expect(throws: BywayError.self) {
      try WatchedPorts(text, transports: TransportRegistry([SerialTransport()]))
    }
    #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
  }
}
