import Byway
import LineLayer
import NIOCore

/// Carries the bytes of a `StreamChannel` over one SSH channel.
///
/// Back-pressure is the channel's own: what its owner does not read stays in libssh2, up to the window; what the server does
/// not take stays here, and makes the channel unwritable. Lives on the connection's event loop.
final class SSHChannelCarrier: StreamCarrier {
  /// What is read before the owner takes it.
  private static let readAhead = 256 * 1024
  /// What is gathered while the server or the network takes nothing: a few packets.
  private static let gathering = 128 * 1024
  /// How long the end of a command's output waits for its exit to become known.
  private static let patience = TimeAmount.milliseconds(250)

  private let connection: SSHConnection
  private let channel: SSHChannel
  private let command: CommandRun?
  private var stream: StreamChannel?
  private var pending = ByteBuffer()
  private var unconsumed = 0
  private var isPaused = false
  private var hasInputEnded = false
  private var isOutputEnding = false
  private var hasOutputEnded = false

  private init(_ channel: SSHChannel, of connection: SSHConnection, command: CommandRun?) {
    self.channel = channel
    self.connection = connection
    self.command = command
  }

  /// Makes the NIO channel, which is not active yet.
  static func carry(_ channel: SSHChannel, of connection: SSHConnection, command: CommandRun? = nil) -> StreamChannel {
    let carrier = SSHChannelCarrier(channel, of: connection, command: command)
    let stream = StreamChannel(on: connection.eventLoop, carrier: carrier, parent: connection.channel)
    carrier.stream = stream
    connection.carriers.append(carrier)
    return stream
  }

  // MARK: For the connection

  /// Takes what has arrived, as far as the owner keeps up.
  func receive() throws(SSHError) {
    // Always, as an unread error output would hold up the rest. Other channels have none.
    while case .bytes(let bytes) = try channel.read(.standardError) { command?.log(bytes) }
    while stream != nil, !hasInputEnded {
      guard unconsumed < Self.readAhead else {
        isPaused = true
        return
      }
      switch try channel.read(.data) {
      case .bytes(let bytes):
        unconsumed += bytes.readableBytes
        command?.hasSent = true
        stream?.deliver(bytes)
      case .blocked: return
      case .end: inputEnded()
      }
    }
    if hasInputEnded, channel.isClosedByServer { closedByServer() }
  }

  /// Sends what waits, as far as the server and the network take it.
  func transmit() throws(SSHError) {
    guard stream != nil else { return }
    while pending.readableBytes > 0, connection.canSend {
      let count = try channel.write(pending)
      guard count > 0 else { break }
      pending.moveReaderIndex(forwardBy: count)
    }
    if isOutputEnding, !hasOutputEnded, pending.readableBytes == 0 { hasOutputEnded = try channel.endOutput() }
    stream?.drained()
  }

  /// The connection is gone.
  func lost(_ error: BywayError) {
    stream.take()?.ended(error)
  }

  // MARK: The far end's end

  private func inputEnded() {
    hasInputEnded = true
    guard command != nil, !channel.isClosedByServer else {
      if command == nil { stream?.inputEnded() }
      return
    }
    connection.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { self.stream?.inputEnded() }
  }

  private func closedByServer() {
    guard let stream = stream.take() else { return }
    release()
    if let failure = command?.failure(channel.exit) { return stream.endedOnceRead(failure) }
    stream.inputEnded()
    stream.ended(nil)
  }

  private func release() {
    connection.carriers.removeAll { $0 === self }
    connection.closing.append { [channel] in channel.free() }
    connection.pump()
  }

  /// A channel that fails alone, because its far end has closed it, closes; what concerns all ends the connection.
  private func attempt(_ body: () throws(SSHError) -> Void) {
    guard !connection.isEnded else { return }
    do throws(SSHError) {
      try body()
    } catch {
      // Whatever it was, the next turn meets it too, and tells everyone.
      connection.pump()
    }
  }

  // MARK: StreamCarrier

  var room: Int {
    guard !isOutputEnding, !hasClosed, channel.sendWindow > 0, connection.channel?.isWritable == true else { return 0 }
    return max(0, Self.gathering - pending.readableBytes)
  }

  private var hasClosed: Bool { stream == nil }
  var backlog: Int { pending.readableBytes }
  var lineStatistics: LineStatistics? { nil }

  func write(_ bytes: ByteBuffer) {
    if pending.readableBytes == 0 {
      pending = bytes
    } else {
      pending.discardReadBytes()
      pending.writeImmutableBuffer(bytes)
    }
  }

  func flush() {
    attempt { () throws(SSHError) in try transmit() }
    connection.flush()
  }

  func consumed(_ count: Int) {
    unconsumed -= count
    guard isPaused, unconsumed <= Self.readAhead / 2 else { return }
    isPaused = false
    // No event of the socket will tell of what libssh2 has by now.
    connection.pump()
  }

  func closeOutput() {
    isOutputEnding = true
    flush()
  }

  /// What the server does not take now is dropped, as with a socket.
  func close() {
    flush()
    guard let stream = stream.take() else { return }
    release()
    stream.ended(nil)
  }
}
