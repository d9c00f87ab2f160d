import Glibc
import NIOCore
import Testing

@testable import SerialTransport

@Suite struct UeventTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.replacing("|", with: "\0").utf8) }

  private let properties = "ACTION=add|DEVPATH=/devices/ttyUSB0|SUBSYSTEM=tty|DEVNAME=/dev/ttyUSB0|"

  private func udev(_ properties: [UInt8], magic: UInt32 = 0xFEED_CAFE, start: UInt32 = 40, count: UInt32? = nil)
    -> [UInt8]
  {
    var message = Array("libudev\0".utf8)
    func append(_ number: UInt32) { withUnsafeBytes(of: number) { message += $0 } }
    append(magic.bigEndian)
    append(40)
    append(start)
    append(count ?? UInt32(properties.count))
    for _ in 0..<4 { append(0) }
    return message + properties
  }

  @Test("uevents of the kernel and of udev are read")
  func both() {
    #expect(Uevent(bytes("add@/devices/ttyUSB0|" + properties))?.subsystem == "tty")
    #expect(Uevent(udev(bytes(properties)))?.subsystem == "tty")
    #expect(Uevent(bytes("add@/x|ACTION=add|SUBSYSTEM=block|"))?.subsystem == "block")
  }

  @Test("truncated uevents, those with wrong lengths, and those of other senders are rejected")
  func neither() {
    let whole = udev(bytes(properties))
    for message in [
      [], bytes("add@/x"), bytes("add|SUBSYSTEM=tty|"), bytes("add@/x|ACTION=add|"), Array(whole.prefix(30)),
      bytes("libudev|"),
      udev(bytes(properties), magic: 0xCAFE_FEED), udev(bytes(properties), start: 5_000),
      udev(bytes(properties), count: 5_000), udev(bytes(properties), start: .max, count: .max),
    ] {
      #expect(Uevent(message) == nil)
    }
  }

  @Test("arbitrary bytes are parsed as a uevent or rejected, without a crash")
  func anyBytes() {
    var generator = SystemRandomNumberGenerator()
    for whole in [bytes("add@/devices/ttyUSB0|" + properties), udev(bytes(properties))] {
      for _ in 0..<2_000 {
        var message = whole.prefix(.random(in: 0...whole.count, using: &generator))
        for _ in 0..<3 where !message.isEmpty {
          message[.random(in: 0..<message.count, using: &generator)] = .random(in: 0...255, using: &generator)
        }
        if let event = Uevent(message) { #expect(event.subsystem.utf8.count <= whole.count * 3) }
      }
    }
  }

  /// Sends an event as the kernel would for an adapter. Only root can trigger it.
  @Test(
    "a uevent of the kernel about a port is reported, and no other one",
    .enabled(if: access("/sys/class/tty/tty1/uevent", W_OK) == 0),
    .timeLimit(.minutes(1)))
  func kernel() async throws {
    func announce(_ device: String) throws {
      let file = open("/sys/class/\(device)/uevent", O_WRONLY)
      try #require(file >= 0 && write(file, "change", 6) == 6)
      close(file)
    }
    let (events, changed) = AsyncStream.makeStream(of: Void.self)
    let listener = try UeventListener { changed.yield() }
    try announce("mem/null")
    try announce("tty/tty1")
    var iterator = events.makeAsyncIterator()
    await iterator.next()
    #expect(listener.isListening)
    listener.stop()
    listener.stop()
  }

  @Test("uevents that other processes send to the socket are not trusted")
  func forged() throws {
    var socket = try UeventSocket()
    let first = try socket.read()
    #expect(first == .nothing)
    // From another socket, with root's credentials, but not to a group.
    var address = [UInt32](repeating: 0, count: 3)
    var size = socklen_t(12)
    let isKnown = address.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { getsockname(socket.descriptor, $0.assumingMemoryBound(to: sockaddr.self), &size) } ?? -1
    }
    try #require(isKnown == 0)
    // A unicast message to this socket.
    address[2] = 0
    let other = Glibc.socket(AF_NETLINK, CInt(SOCK_RAW.rawValue), 15)
    defer { close(other) }
    let message = bytes("add@/devices/ttyUSB0|" + properties)
    let sent = address.withUnsafeBytes { bytes in
      bytes.baseAddress.map {
        sendto(other, message, message.count, 0, $0.assumingMemoryBound(to: sockaddr.self), size)
      } ?? -1
    }
    // Only root can send this far.
    let reading = try socket.read()
    #expect(reading == (sent < 0 ? .nothing : .unknown))
  }
}
