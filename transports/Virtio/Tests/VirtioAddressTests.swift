import Byway
import Testing

@testable import VirtioTransport

@Suite struct VirtioAddressTests {
  private let transport = VirtioTransport()

  @Test(
    "a virtio address has a name or an absolute path",
    arguments: ["org.byway.link", "a", "org.qemu.guest_agent.0", "/run/vm.sock", "/dev/vport0p1", "a:b", "ü"])
  func addresses(_ rest: String) throws {
    try transport.check(LinkAddress("virtio:\(rest)"))
  }

  @Test(
    "a virtio address without a valid port is refused",
    arguments: ["", "//host/port", "a b", "a/b", "./socket", "a\u{7F}", "a\n"])
  func badAddresses(_ rest: String) {
    let error = #expect(throws: BywayError.self) { try transport.check(LinkAddress("virtio:\(rest)")) }
    #expect(error?.code == .invalidAddress && error?.message.contains("write virtio:NAME") == true)
  }

  @Test("an unknown option of a virtio address is refused")
  func options() {
    let error = #expect(throws: BywayError.self) {
      try TransportRegistry([transport]).link("virtio:a?baud=9600")
    }
    #expect(error?.code == .unknownOption)
  }

  @Test("names and paths of virtio ports are told apart")
  func places() throws {
    #expect(try VirtioPlace(LinkAddress("virtio:a")) == .port("a"))
    #expect(try VirtioPlace(LinkAddress("virtio:/a")) == .path("/a"))
    #expect("\(VirtioPlace.port("a"))" == "virtio port a" && "\(VirtioPlace.path("/a"))" == "/a")
  }

  @Test("a virtio port is a line without a rate")
  func line() throws {
    let line = try transport.line(for: LinkAddress("virtio:a"))
    #expect(line != nil && line?.bytesPerSecond == nil)
  }

  @Test(
    "a path that cannot be a virtio port is refused",
    arguments: [("/dev/null", "another kind"), ("/etc/passwd", "neither")])
  func wrongFile(_ path: String, _ part: String) throws {
    let address = try LinkAddress("virtio:\(path)")
    let error = #expect(throws: BywayError.self) { try transport.check(address, for: .dial) }
    #expect(error?.code == .invalidAddress && error?.message.contains(part) == true, "\(error as Any)")
    try transport.check(LinkAddress("virtio:/no/such/socket"), for: .dial)
  }
}
