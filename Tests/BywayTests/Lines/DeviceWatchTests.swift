import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TestTools
import Testing

@testable import Byway

/// The listening side of a device that comes and goes.
@Suite struct DeviceWatchTests {
  private let log = LogRecord()
  private let device = FakeDevice()

  private func listen() async throws -> any Listener {
    let device = device
    return try await DeviceWatch(device: "the port", logger: log.logger) { try await device.open($0) }
      .listen(on: LinkAddress("port:1"))
  }

  private var notices: [String] { log.all.filter { $0.hasPrefix("notice") } }

  @Test("a listener does not start for a device that waiting would not bring")
  func lasting() async throws {
    device.failure.withLock { $0 = FakeFailure(isAbsence: false, message: "No permission.") }
    await #expect(throws: FakeFailure(isAbsence: false, message: "No permission.")) { try await listen() }
  }

  @Test("a missing device is logged once, and the reason stays until it is there")
  func absence() async throws {
    device.failure.withLock { $0 = FakeFailure(isAbsence: true, message: "There is none. There are: a.") }
    let listener = try await listen()
    #expect(listener.unavailableReason == "There is none. There are: a.")
    device.failure.withLock { $0 = FakeFailure(isAbsence: true, message: "There is none. There are: a, b.") }
    let attempts = device.attempts
    #expect(try await eventually { device.attempts >= attempts + 3 })
    #expect(notices == ["notice Waiting for the port. There is none. There are: a."])
    #expect(listener.unavailableReason == "There is none. There are: a, b.")
    device.failure.withLock { $0 = nil }
    let channel = try #require(try await first(of: listener))
    #expect(try await eventually { listener.unavailableReason == nil })
    try await channel.close()
    await listener.close()
  }

  @Test("an error of a device is logged when it persists, and each time that it is another one")
  func errors() async throws {
    let listener = try await listen()
    let channel = try #require(try await first(of: listener))
    // A new device gets its permissions a moment after its name.
    device.failures.withLock { $0 = [FakeFailure(isAbsence: false, message: "No permission.")] }
    try await channel.close()
    let next = try #require(try await first(of: listener))
    #expect(notices == [])
    device.failure.withLock { $0 = FakeFailure(isAbsence: false, message: "No permission.") }
    try await next.close()
    #expect(try await eventually { !notices.isEmpty })
    device.failure.withLock { $0 = FakeFailure(isAbsence: false, message: "In use.") }
    #expect(try await eventually { notices.count == 2 })
    #expect(
      notices == ["notice Waiting for the port. No permission.", "notice Waiting for the port. In use."])
    await listener.close()
    let attempts = device.attempts
    #expect(try await !eventually(within: .milliseconds(600)) { device.attempts > attempts + 1 })
    #expect(try await first(of: listener) == nil)
  }

  @Test("a device is opened again a quarter of a second after its channel has closed, and not before")
  func interval() async throws {
    let listener = try await listen()
    var channel = try #require(try await first(of: listener))
    #expect(device.attempts == 1)
    #expect(try await !eventually(within: .milliseconds(600)) { device.attempts > 1 })
    for round in 2...3 {
      let start = ContinuousClock.now
      try await channel.close()
      channel = try #require(try await first(of: listener))
      #expect(start.duration(to: .now) >= .milliseconds(200) && device.attempts == round)
    }
    await listener.close()
    #expect(channel.isActive)
    try await channel.close()
  }

  private func first(of listener: any Listener) async throws -> (any Channel)? {
    for try await channel in listener.channels { return channel }
    return nil
  }
}

private struct FakeFailure: DeviceFailure, Equatable {
  let isAbsence: Bool
  let message: String
  let fault = LinkFault.noFile
}

private final class FakeDevice: Sendable {
  /// The error of each attempt.
  let failure = Mutex<FakeFailure?>(nil)
  /// The errors of the next attempts.
  let failures = Mutex<[FakeFailure]>([])
  private let count = Mutex(0)
  var attempts: Int { count.withLock(\.self) }

  func open(_ queue: ChannelQueue) async throws -> any Channel {
    count.withLock { $0 += 1 }
    if let next = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw next }
    if let failure = failure.withLock(\.self) { throw failure }
    return try await ThreadChannel.open(on: MultiThreadedEventLoopGroup.singleton, to: queue) { socket in
      var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      poll(&state, 1, -1)
      close(socket)
    }
  }
}
