import Byway
import BywayPrimitives
import Glibc
import Logging
import NIOCore
import TestTools
import Testing
import TransportTestSupport

@testable import CANTransport

/// Tests what needs no bus. A pair of sockets that keeps messages apart stands for it; Tests/Device/can.py has an emulated one.
@Suite struct CANLinkTests {
  @Test("ISO-TP addresses and options have the layout of the kernel")
  func layout() throws {
    let address = try CANAddress(LinkAddress("can:can0?tx=7E0&rx=18DAF110"))
    #expect(
      withUnsafeBytes(of: ISOTPSocket.Address(interface: 5, address)) { Array($0) } == [
        29, 0, 0, 0, 5, 0, 0, 0, 0x10, 0xF1, 0xDA, 0x98, 0xE0, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      ])
    #expect(withUnsafeBytes(of: ISOTPSocket.FrameOptions.fd) { Array($0) } == [72, 64, 1])
  }

  @Test("system errors of a CAN socket say what to do")
  func failures() throws {
    let classic = try CANAddress(LinkAddress("can:can7?tx=1&rx=2"))
    let fd = try CANAddress(LinkAddress("can:can7?tx=1&rx=2&fd=yes"))
    let expected: [(CInt, CANAddress, LinkFault, String, absent: Bool)] = [
      (EAFNOSUPPORT, classic, .noRoute, "load the module can,", false),
      (EPROTONOSUPPORT, classic, .noRoute, "load the module can-isotp", false),
      (ENODEV, classic, .noFile, "There is no CAN interface can7", true),
      (ENETDOWN, classic, .noRoute, "ip link set can7 up type can", true),
      (EINVAL, fd, .badSettings, "write fd=no at both ends", false),
      (EINVAL, classic, .notADevice, "cannot be used", false),
      (EPERM, classic, .noPermission, "Permission denied", false),
      (EACCES, classic, .noPermission, "Permission denied", false),
      (ESOCKTNOSUPPORT, classic, .noRoute, "load the module can-isotp", false),
      (EIO, fd, .notADevice, "cannot be used", false),
    ]
    for (code, address, fault, part, absent) in expected {
      let failure = CANFailure(opening: address, SystemError(code: code))
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure)")
      #expect(failure.isAbsence == absent, "\(failure)")
    }
    #expect(CANFailure.noInterface("a", ["b", "c"]).message.hasSuffix("There are: b, c."))
    #expect(CANFailure.noInterface("a", []).message.hasSuffix("There are no CAN interfaces here."))
  }

  @Test("a message that the other end does not take is lost, and a lost interface ends the line")
  func losses() {
    for code in [ECOMM, ETIMEDOUT, EILSEQ, EMSGSIZE, EBADMSG, EPROTO] {
      #expect(ISOTPSocket.losses.contains(code), "\(code)")
    }
    for code in [ENODEV, ENETDOWN, ENXIO, EIO, EPIPE] { #expect(!ISOTPSocket.losses.contains(code), "\(code)") }
    #expect(ISOTPSocket.medium(9, name: "a").kind == .messages(limit: 4095, loss: ISOTPSocket.losses))
  }

  @Test("CAN interfaces are found among the others")
  func interfaces() throws {
    let folder = try TemporaryFolder()
    for (name, kind) in [("vcan1", "280\n"), ("eth0", "1\n"), ("can0", "280\n"), ("odd", "2800\n")] {
      guard mkdir(folder[name], 0o755) == 0 else { throw FixtureError("no folder: \(errno)") }
      try folder.write(kind, to: "\(name)/type")
    }
    #expect(CANInterfaces.names(in: folder.path) == ["can0", "vcan1"])
    #expect(CANInterfaces.names(in: folder["nothing"]) == [])
  }

  @Test("a missing interface, or a kernel without ISO-TP, is an error that says so")
  func missing() async throws {
    let address = try LinkAddress("can:none7?tx=1&rx=2")
    let error = await bywayError { try await CANTransport().connect(to: address, context: .test()) }
    #expect(error?.code == .linkUnavailable && error?.processing == BywayError.Processing.none)
    let texts = [
      "There is no CAN interface none7", "This machine's kernel has no ISO-TP", "Permission denied on none7",
    ]
    #expect(texts.contains { error?.message.hasPrefix($0) == true }, "\(error as Any)")
  }

  @Test("the error of a silent bus does not mention a baud rate, which it does not have")
  func silence() async throws {
    let bus = try EmulatedBus(losing: 1)
    let link = try TransportRegistry([bus]).link(bus.tester)
    let error = await bywayError {
      try await link.transport.connect(to: link.address, context: .test(limit: .milliseconds(500)))
    }
    #expect(error?.message.hasPrefix("No answer on \(bus.tester). No bytes arrive") == true, "\(error as Any)")
    #expect(error?.message.contains("baud") == false)
    await bus.stop()
  }

  @Test("a link carries a stream over a bus, also if it loses messages", arguments: [0, 5])
  func link(losing every: Int) async throws {
    let bus = try EmulatedBus(losing: every)
    let registry = TransportRegistry([bus])
    let listener = try await registry.link(bus.ecu).transport.listen(on: LinkAddress(bus.ecu), context: .test())
    let near = try await registry.link(bus.tester).transport.connect(to: LinkAddress(bus.tester), context: .test())
    let far = try #require(try await nextChannel(of: listener))
    let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
    let received = try await far.receiving(count: bytes.count, limit: .seconds(30))
    near.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    #expect(try await Array(buffer: received.get().bytes) == bytes)
    let answer = try await near.receiving(count: 3, limit: .seconds(30))
    far.writeAndFlush(ByteBuffer(bytes: [1, 0, 2]), promise: nil)
    #expect(try await Array(buffer: answer.get().bytes) == [1, 0, 2])
    try? await near.close()
    await listener.close()
    await bus.stop()
    #expect((bus.lost > 0) == (every > 0))
  }
}

/// A bus with two ends, which may lose each message of a number.
private final class EmulatedBus: Transport, @unchecked Sendable {
  // Sendable: the ends are taken before the thread starts, and it alone counts.
  let scheme = "bus"
  // The state of a line is kept by its address, so each bus has its own.
  private let number = UInt32.random(in: 0 ... .max)
  private let ends: [String: CInt]
  private let inner: [CInt]
  private let stopping: (read: CInt, write: CInt)
  private let every: Int
  private(set) var lost = 0
  private var thread = pthread_t()

  init(losing every: Int) throws {
    self.every = every
    var (left, right, pipe): ([CInt], [CInt], [CInt]) = ([-1, -1], [-1, -1], [-1, -1])
    let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &left) == 0, socketpair(AF_UNIX, kind, 0, &right) == 0, Glibc.pipe(&pipe) == 0
    else { throw FixtureError("no sockets: \(errno)") }
    ends = ["bus:tester-\(number)": left[0], "bus:ecu-\(number)": right[0]]
    inner = [left[1], right[1]]
    stopping = (pipe[0], pipe[1])
    let bus = self
    thread = try SystemThread.start { bus.run() }
  }

  var tester: String { "bus:tester-\(number)" }
  var ecu: String { "bus:ecu-\(number)" }

  func check(_ address: LinkAddress) throws {}

  func line(for address: LinkAddress) throws -> LineProperties? { LineProperties(bytesPerSecond: 1_000_000) }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await open(address, context, to: nil)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let queue = ChannelQueue(limit: 1)
    _ = try await open(address, context, to: queue)
    return QueueListener(address: address, queue: queue) { queue.end() }
  }

  private func open(_ address: LinkAddress, _ context: LinkContext, to queue: ChannelQueue?) async throws -> any Channel
  {
    guard let end = ends[address.text] else { throw FixtureError("no end \(address)") }
    let medium = ISOTPSocket.medium(dup(end), name: address.path)
    return try await medium.open(on: context.group, to: queue, logger: context.logger)
  }

  private func run() {
    var (bytes, count) = ([UInt8](repeating: 0, count: 8192), 0)
    while true {
      var ready = (inner + [stopping.read]).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&ready, 3, 60_000) > 0, ready[2].revents == 0 else { return }
      for (from, to) in [(0, 1), (1, 0)] where ready[from].revents & Int16(POLLIN) != 0 {
        let length = recv(inner[from], &bytes, bytes.count, 0)
        guard length > 0 else { continue }
        count += 1
        if every > 0, count % every == 0 {
          lost += 1
        } else {
          send(inner[to], bytes, length, CInt(MSG_NOSIGNAL))
        }
      }
    }
  }

  func stop() async {
    _ = write(stopping.write, [1], 1)
    pthread_join(thread, nil)
    for descriptor in inner + Array(ends.values) + [stopping.read, stopping.write] { close(descriptor) }
  }
}
