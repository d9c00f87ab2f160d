import Dispatch
import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestPeers
import TestTools
import Testing

@testable import BywayDaemonProcess

/// Notifications of daemons to the service manager.
@Suite("Service manager") struct ServiceManagerTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test(
    "a daemon notifies the service manager in order: ready with its address, alive, stopping",
    arguments: [false, true])
  func life(isAbstract: Bool) async throws {
    let inbox = try NotificationInbox(isAbstract ? "@\(folder.path)" : folder["notify"])
    let link = "unix:\(folder["l"])"
    let gateway = try await BywayProcess.gateway(
      ["--link", link, "--origin", "http://127.0.0.1:1", "--drain", "2"],
      environment: ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "200000"])
    let ready = try await inbox.next()
    #expect(ready.wholeMatch(of: /READY=1\nSTATUS=.*0 requests.*/) != nil, "\(ready)")
    for _ in 0..<3 { #expect(try await inbox.next() == "WATCHDOG=1") }
    #expect(await gateway.process.stop() == .code(0))
    #expect(try await inbox.next { $0 != "WATCHDOG=1" } == "STOPPING=1\nEXTEND_TIMEOUT_USEC=7000000")
  }

  @Test("watchdog notifications are sent only by the process that WATCHDOG_PID names")
  func anotherProcess() async throws {
    let inbox = try NotificationInbox(folder["notify"])
    let gateway = try await BywayProcess.gateway(
      ["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"],
      environment: ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"])
    #expect(try await inbox.next().hasPrefix("READY=1"))
    #expect(await gateway.process.stop() == .code(0))
    #expect(try await inbox.next().hasPrefix("STOPPING=1"))
  }

  @Test("a daemon's child processes do not inherit the service manager's variables")
  func environment() async throws {
    let inbox = try NotificationInbox(folder["notify"])
    let proxy = try await BywayProcess.proxy(
      ["--link", "exec:sh -c 'env >\(folder["env"]); exec cat'", "--listen", "unix:\(folder["p"])"],
      environment: ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "9000000", "LISTEN_FDS": "0", "LISTEN_PID": "1"])
    _ = try await Curl.fetch("--unix-socket", folder["p"], "--max-time", "2", "http://device/")
    let variables = try String(contentsOfFile: folder["env"], encoding: .utf8)
    #expect(variables.contains("PATH="))
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] { #expect(!variables.contains(name)) }
    await proxy.process.stop()
  }

  @Test("a daemon whose notification socket is gone still serves, and logs it")
  func gone() async throws {
    let gateway = try await BywayProcess.gateway(
      ["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"],
      environment: ["NOTIFY_SOCKET": folder["nobody"]])
    _ = try await gateway.process.errorLine(containing: "service manager cannot be notified", within: .seconds(5))
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test("a blocked event loop stops the watchdog notifications, and is logged")
  func stuck() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let loops = Array(group.makeIterator())
    let signs = Mutex(0)
    let log = LogRecord()
    let watchdog = Watchdog(over: loops, limit: .milliseconds(40), logger: log.logger)
    let running = Task { await watchdog.run { signs.withLock { $0 += 1 } } }
    #expect(try await eventually { signs.withLock(\.self) >= 3 })
    let (stuck, isStuck) = AsyncStream.makeStream(of: Void.self)
    let release = DispatchSemaphore(value: 0)
    loops[1].execute {
      isStuck.finish()
      release.wait()
    }
    for await _ in stuck {}
    #expect(try await eventually { log.messages.contains { $0.contains("does not answer") } })
    let before = signs.withLock(\.self)
    // Many periods of another loop: none of them causes a notification.
    for _ in 0..<10 { try await loops[0].scheduleTask(in: .milliseconds(20)) {}.futureResult.get() }
    #expect(signs.withLock(\.self) <= before + 1)
    release.signal()
    #expect(try await eventually { signs.withLock(\.self) > before + 1 })
    running.cancel()
    await running.value
    try await group.shutdownGracefully()
  }

  @Test("watchdog notifications come at least twice per timeout, and a blocked loop is logged before it")
  func period() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let clock = RecordingClock()
    let watchdog = Watchdog(
      over: Array(group.makeIterator()), limit: .seconds(30), clock: clock, logger: LogRecord().logger)
    let running = Task { await watchdog.run {} }
    #expect(try await eventually { clock.waits.count >= 6 })
    running.cancel()
    await running.value
    #expect(clock.waits.allSatisfy { $0 <= .seconds(15) && $0 > .seconds(10) })
    try await group.shutdownGracefully()
  }

  /// A clock that records sleeps and ends them immediately.
  private final class RecordingClock: Clock {
    struct Instant: InstantProtocol {
      var offset = Duration.zero

      func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
      func duration(to other: Instant) -> Duration { other.offset - offset }
      static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let kept = Mutex<[Duration]>([])

    var waits: [Duration] { kept.withLock(\.self) }
    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      kept.withLock { $0.append(now.duration(to: deadline)) }
      try Task.checkCancellation()
      await Task.yield()
    }
  }

  @Test("a notification text stays on one line")
  func lines() {
    #expect(ServiceNotice.status("3 links up\nMAINPID=1").text == "STATUS=3 links up MAINPID=1")
    #expect(ServiceNotice.reloading(since: 1_234_567).text == "RELOADING=1\nMONOTONIC_USEC=1234")
  }

  @Test(
    "a notification address must be a path or abstract",
    arguments: ["", "@", "notify", "vsock:2:1234"])
  func addresses(_ name: String) {
    #expect(NotificationSocket(name) == nil)
    #expect(NotificationSocket("/" + String(repeating: "x", count: 200)) == nil)
  }
}
