import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import Byway

/// A gateway on a borrowed line, which gives it back when no session uses it: `linger=`.
@Suite("linger= of a line") struct LineLingerTests {
  private let log = LogRecord()

  private func listen(_ pair: SocketPair, _ options: String) async throws -> any Listener {
    let link = try TransportRegistry([pair]).link("pair:\(pair.number)\(options)")
    return try await link.transport.listen(on: link.address, context: .test(logger: log.logger))
  }

  private var isGivenBack: Bool { log.all.contains { $0.hasPrefix("notice No session has come; the line is given") } }

  @Test("a line without a session is given back after its time")
  func unused() async throws {
    let pair = try SocketPair()
    let start = ContinuousClock.now
    let listener = try await listen(pair, "?linger=1")
    #expect(try await nextChannel(of: listener) == nil)
    #expect(start.duration(to: .now) >= .milliseconds(900))
    #expect(isGivenBack)
    #expect(try await eventually { pair.isFarEnded })
    await listener.close()
  }

  @Test("a line without linger= is kept")
  func kept() async throws {
    let pair = try SocketPair()
    let listener = try await listen(pair, "")
    #expect(try await !eventually(within: .milliseconds(1500)) { pair.isFarEnded || isGivenBack })
    await listener.close()
  }

  @Test("a session keeps its line, and the time begins again when it has ended")
  func session() async throws {
    let pair = try SocketPair()
    let link = try TransportRegistry([pair]).link("pair:dialer-\(pair.number)")
    // The dialer asks before the time of the listener begins.
    let dialing = Task { try await link.transport.connect(to: link.address, context: .test(limit: .seconds(20))) }
    #expect(try await eventually { pair.isDialed })
    let listener = try await listen(pair, "?linger=2")
    let near = try await dialing.value
    let far = try #require(try await nextChannel(of: listener))
    #expect(try await !eventually(within: .milliseconds(2500)) { isGivenBack })
    #expect(near.isActive && far.isActive)
    near.close(promise: nil)
    try await far.close()
    let start = ContinuousClock.now
    #expect(try await nextChannel(of: listener) == nil)
    #expect(isGivenBack && start.duration(to: .now) >= .milliseconds(1500))
    await listener.close()
  }
}

/// Two ends of a line in this process, each of which can be opened once.
private final class SocketPair: Transport, @unchecked Sendable {
  // Sendable: each end is taken once.
  let scheme = "pair"
  let options = [LinkOption("linger", "seconds")]
  // The state of a line is kept by its address, so each pair has its own.
  let number = UInt32.random(in: 0 ... .max)
  private let ends: [CInt]
  private let watch: CInt

  init() throws {
    var pair: [CInt] = [-1, -1]
    // A program that another test starts must not keep an end open.
    let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
    guard socketpair(AF_UNIX, CInt(kind), 0, &pair) == 0 else {
      throw FixtureError("no pair of sockets: \(errno)")
    }
    ends = pair
    watch = dup(pair[0])
  }

  deinit { Glibc.close(watch) }

  /// Whether the dialer has sent bytes, before the listener has its end.
  var isDialed: Bool {
    var state = pollfd(fd: ends[1], events: Int16(POLLIN), revents: 0)
    return poll(&state, 1, 0) == 1
  }

  /// Whether the listener has closed its end.
  var isFarEnded: Bool {
    var state = pollfd(fd: watch, events: 0, revents: 0)
    return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP) != 0
  }

  func check(_ address: LinkAddress) {}

  func line(for address: LinkAddress) -> LineProperties? { LineProperties(bytesPerSecond: 1_000_000) }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await channel(ends[0], nil, context)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let queue = ChannelQueue(limit: 1)
    _ = try await channel(ends[1], queue, context)
    return QueueListener(address: address, queue: queue) { queue.end() }
  }

  private func channel(_ end: CInt, _ queue: ChannelQueue?, _ context: LinkContext) async throws -> any Channel {
    try await ClientBootstrap(group: context.group).channelInitializer { $0.prepareForHandover(to: queue) }
      .withConnectedSocket(end).get()
  }
}
