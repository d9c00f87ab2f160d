package import Byway
import NIOCore

/// A server's statements before encryption starts (RFC 4253 §4.2, §7.1). They are the only way to explain a failed key
/// exchange, because libssh2 reports no details.
package struct ServerIdentification: Sendable {
  /// The number of bytes examined. Later bytes are not an identification.
  private static let limit = 64 * 1024
  private static let openingLimit = 64

  /// The first line, made safe to print.
  package private(set) var firstLine: String?
  /// The text after `SSH-2.0-`: `OpenSSH_9.2p1`.
  package private(set) var software: String?
  /// The server's lists, in the order of a KEXINIT.
  package private(set) var offer: [[String]] = []
  /// Whether the server sent more than any server sends before its identification.
  private(set) var isTooLong = false
  /// The first bytes of all.
  private var opening: [UInt8] = []
  private var bytes = ByteBuffer()
  /// The number of these bytes known to contain no line end.
  private var searched = 0
  private var isComplete = false

  /// Whether an SSH server currently refuses logins. It says so instead of sending its identification (sshd_config(5), MaxStartups
  /// and PerSourcePenalties).
  package var isTurningAway: Bool {
    ["Exceeded MaxStartups", "Not allowed at this time"].contains { firstLine?.hasPrefix($0) == true }
  }

  /// The protocol of a peer that is not an SSH server, as soon as the first bytes show it. Lines that an SSH server may send,
  /// too, do not count.
  package var unexpectedPeer: UnexpectedPeer? {
    guard software == nil, let unexpectedPeer = UnexpectedPeer(opening) else { return nil }
    return switch unexpectedPeer {
    case .webServer, .tls, .mailServer: unexpectedPeer
    case .echo, .ssh, .login: nil
    }
  }

  mutating func receive(_ more: ByteBuffer) {
    guard !isComplete else { return }
    opening += more.readableBytesView.prefix(Self.openingLimit - opening.count)
    bytes.writeImmutableBuffer(more)
    if software == nil { readLines() }
    if software != nil { readOffer() }
    guard !isComplete, bytes.readableBytes > Self.limit else { return }
    isTooLong = software == nil
    finish()
  }

  private mutating func finish() {
    isComplete = true
    bytes = ByteBuffer()
  }

  /// Lines may come before the identification (RFC 4253 §4.2).
  private mutating func readLines() {
    while software == nil, let end = bytes.readableBytesView.dropFirst(searched).firstIndex(of: UInt8(ascii: "\n")) {
      let line = (bytes.readString(length: end - bytes.readerIndex) ?? "").onOneLine
      bytes.moveReaderIndex(forwardBy: 1)
      searched = 0
      if firstLine == nil { firstLine = String(line.prefix(100)) }
      for start in ["SSH-2.0-", "SSH-1.99-"] where line.hasPrefix(start) {
        software = String(line.dropFirst(start.count).prefix { $0 != " " }.prefix(100))
      }
    }
    searched = bytes.readableBytes
  }

  /// Reads packet_length, padding_length, SSH_MSG_KEXINIT, cookie and ten name-lists.
  private mutating func readOffer() {
    guard let length = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self) else { return }
    guard length < Self.limit, bytes.readableBytes >= 4 + Int(length) else { return }
    var packet = bytes.getSlice(at: bytes.readerIndex + 4, length: Int(length)) ?? ByteBuffer()
    finish()
    packet.moveReaderIndex(forwardBy: min(1, packet.readableBytes))
    guard packet.readInteger(as: UInt8.self) == 20, packet.readSlice(length: 16) != nil else { return }
    for _ in 0..<8 {
      guard let list = packet.readLengthPrefixedSlice(as: UInt32.self) else { return }
      offer.append(String(buffer: list).split(separator: ",").map { String($0).onOneLine })
    }
  }

  /// A message about the first list that has nothing in common with ours; `nil` if there is none.
  package var mismatch: String? {
    let names = [
      "key exchange", "type of host key", "cipher", "cipher", "message authentication", "message authentication",
      "compression", "compression",
    ]
    for (index, ours) in SSHAlgorithms.offered.enumerated() where index < offer.count {
      guard !offer[index].contains(where: ours.contains) else { continue }
      let theirs = offer[index].prefix(12).joined(separator: ", ")
      return "\(names[index]): it offers \(theirs.isEmpty ? "none" : theirs); this end knows "
        + "\(ours.joined(separator: ", "))."
    }
    return nil
  }
}
