import Byway
import Foundation
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

@Suite struct SerialListenerTests {
  let transport = SerialTransport()

  @Test("a serial listener waits for a missing device, and logs that once")
  func waiting() async throws {
    try await withTemporaryFolder { folder in
      let name = "\(folder)/port"
      let log = LogRecord()
      let listener = try await transport.listen(
        on: LinkAddress("serial:\(name)"), context: .test(logger: log.logger))
      let accepted = Task { try await nextChannel(of: listener) }
      #expect(try await eventually { log.all.count >= 3 })
      #expect(log.all.first?.hasPrefix("notice Waiting for \(name). There is no serial port \(name)") == true)
      #expect(log.all.dropFirst().allSatisfy { $0 == "trace Still waiting for \(name)" })

      let terminal = try PseudoTerminal()
      try terminal.link(as: name)
      let channel = try #require(try await accepted.value)
      try terminal.write(everyByte)
      #expect(try await Array(buffer: channel.received(count: 256).bytes) == everyByte)
      try await channel.close()
      await listener.close()
    }
  }

  @Test("a serial listener yields another channel when the device is back")
  func returning() async throws {
    try await withTemporaryFolder { folder in
      let name = "\(folder)/port"
      var terminal: PseudoTerminal? = try PseudoTerminal()
      try terminal?.link(as: name)
      let listener = try await transport.listen(on: LinkAddress("serial:\(name)"), context: .test())
      for round: UInt8 in 0..<3 {
        let channel = try #require(try await nextChannel(of: listener))
        try await channel.writeAndFlush(ByteBuffer(bytes: [round]))
        #expect(try terminal?.read(1) == [round])
        terminal = nil
        try await ended(channel)
        terminal = try PseudoTerminal()
        try terminal?.link(as: name)
      }
      await listener.close()
    }
  }

  @Test("a serial listener yields another channel when the owner has closed the last one")
  func closedByOwner() async throws {
    let terminal = try PseudoTerminal()
    let listener = try await transport.listen(on: LinkAddress("serial:\(terminal.path)"), context: .test())
    for _ in 0..<3 { try await nextChannel(of: listener)?.close() }
    await listener.close()
  }

  @Test("closing a serial listener ends its sequence of channels, and open channels continue")
  func closing() async throws {
    let terminal = try PseudoTerminal()
    let listener = try await transport.listen(on: LinkAddress("serial:\(terminal.path)"), context: .test())
    let channel = try #require(try await nextChannel(of: listener))
    await listener.close()
    #expect(try await nextChannel(of: listener) == nil)
    try await channel.writeAndFlush(ByteBuffer(bytes: [7]))
    #expect(try terminal.read(1) == [7])
    try await channel.close()
    #expect(try openCount(of: terminal.path) == 0)
  }

  @Test("closing a serial listener releases a device that has not been accepted")
  func untaken() async throws {
    let terminal = try PseudoTerminal()
    let listener = try await transport.listen(on: LinkAddress("serial:\(terminal.path)"), context: .test())
    await listener.close()
    // The channel closes on its own loop.
    let next = try #require(
      try await eventualValue { try? await transport.connect(to: listener.address, context: .test()) })
    try await next.close()
  }

  @Test("if waiting does not help, a serial listener fails at once")
  func hopeless() async throws {
    let terminal = try PseudoTerminal()
    let holder = try await transport.connect(to: LinkAddress("serial:\(terminal.path)"), context: .test())
    for (path, part) in [(terminal.path, "is in use by process"), ("/dev/null", "is not a terminal device")] {
      let error = await bywayError { try await transport.listen(on: LinkAddress("serial:\(path)"), context: .test()) }
      #expect(error?.code == .linkUnavailable)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "no error")")
    }
    try await holder.close()
  }
}
