package import Byway
import NIOCore

/// What a server says of itself before encryption begins (RFC 4253 §4.2, §7.1): all there is to explain a key exchange that
/// fails, of which libssh2 tells nothing.
package struct ServerIdentification: Sendable {
  /// Bytes that are looked at; what comes later is not an identification.
  private static let limit = 64 * 1024
  private static let openingLimit = 64

  /// The first line, fit to be shown.
  package private(set) var firstLine: String?
  /// What follows `SSH-2.0-`: `OpenSSH_9.2p1`.
  package private(set) var software: String?
  /// The server's lists, in the order of a KEXINIT.
  package private(set) var offer: [[String]] = []
  /// More than any server says before its identification.
  private(set) var isTooLong = false
  /// The first bytes of all.
  private var opening: [UInt8] = []
  private var bytes = ByteBuffer()
  /// Of these, how many hold no end of a line.
  private var searched = 0
  private var isComplete = false

  /// It is an SSH server, and takes nobody in at present: it says so in place of its identification (sshd_config(5), MaxStartups and
  /// PerSourcePenalties).
  package var isTurningAway: Bool {
    ["Exceeded MaxStartups", "Not allowed at this time"].contains { firstLine?.hasPrefix($0) == true }
  }

  /// Who is there in place of an SSH server, as soon as the first bytes tell. Not by lines that an SSH server may send, too.
  package var stranger: Stranger? {
    guard software == nil, let stranger = Stranger(opening) else { return nil }
    return switch stranger {
    case .webServer, .tls, .mailServer: stranger
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

  /// packet_length, padding_length, SSH_MSG_KEXINIT, cookie, ten name-lists.
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

  /// The first list that has nothing in common with ours, in words; `nil` where there is none.
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
