import NIOCore
import Testing

@testable import SSHTransport

@Suite("Identification of a server") struct SSHIdentificationTests {
  /// A KEXINIT (RFC 4253 §7.1) with these lists, followed by empty ones.
  private func offer(_ lists: [String]) -> ByteBuffer {
    var payload = ByteBuffer(bytes: [20] + Array(repeating: 7, count: 16))
    for list in lists + Array(repeating: "", count: 10 - lists.count) {
      payload.writeInteger(UInt32(list.utf8.count))
      payload.writeString(list)
    }
    payload.writeBytes([0, 0, 0, 0, 0])
    var packet = ByteBuffer(integer: UInt32(payload.readableBytes + 5))
    packet.writeBytes([4])
    packet.writeImmutableBuffer(payload)
    packet.writeBytes([0, 0, 0, 0])
    return packet
  }

  private let usual = [
    "curve25519-sha256", "ssh-ed25519", "aes128-ctr", "aes128-ctr", "hmac-sha2-256", "hmac-sha2-256",
  ]

  /// The result of receiving the bytes one by one.
  private func identification(_ greeting: String, _ packet: ByteBuffer = ByteBuffer()) -> ServerIdentification {
    var identification = ServerIdentification()
    var bytes = ByteBuffer(string: greeting)
    bytes.writeImmutableBuffer(packet)
    while let byte = bytes.readSlice(length: 1) { identification.receive(byte) }
    return identification
  }

  @Test("a server's identification is read byte by byte, and may follow other lines") func drip() {
    let server = identification("Welcome\r\nSSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", offer(usual + ["none", "none"]))
    #expect(server.firstLine == "Welcome" && server.software == "OpenSSH_9.2p1")
    #expect(server.offer.count == 8 && server.offer[1] == ["ssh-ed25519"])
    #expect(server.mismatch == nil && server.unexpectedPeer == nil && !server.isTooLong)
  }

  @Test(
    "if both ends have no algorithm in common, the first such list is named",
    arguments: [(0, "key exchange"), (1, "type of host key"), (3, "cipher"), (5, "message authentication")])
  func mismatch(_ index: Int, _ name: String) {
    var lists = usual + ["none", "none"]
    lists[index] = "rot13,\u{1B}[2J"
    let mismatch = identification("SSH-2.0-x\r\n", offer(lists)).mismatch
    #expect(mismatch?.hasPrefix("\(name): it offers rot13, ?[2J; this end knows ") == true, "\(mismatch ?? "none")")
  }

  @Test("the cipher that was measured to cost least is preferred") func cipher() {
    let offered = SSHAlgorithms.encryption
    #expect(offered.first == "aes128-ctr" && offered.last == "aes256-gcm@openssh.com")
  }

  @Test("invalid input in place of an identification does not trap")
  func hostile() {
    for bytes in [[UInt8](repeating: 0xFF, count: 1_000), [0, 0, 0, 0], [0, 0, 0, 1, 20], [0, 0, 0, 2, 0, 20]] {
      let server = identification("SSH-2.0-x\n", ByteBuffer(bytes: bytes))
      #expect(server.software == "x" && server.offer.isEmpty && server.mismatch == nil)
    }
    var lying = ByteBuffer(bytes: [0, 0, 0, 30, 4, 20] + Array(repeating: 0, count: 16))
    lying.writeBytes(Array(repeating: 0xFF, count: 12))
    #expect(identification("SSH-2.0-x\n", lying).offer.isEmpty)
    var chatter = ServerIdentification()
    for _ in 0..<200 { chatter.receive(ByteBuffer(string: String(repeating: "no end ", count: 100))) }
    #expect(chatter.isTooLong && chatter.software == nil)
  }
}
