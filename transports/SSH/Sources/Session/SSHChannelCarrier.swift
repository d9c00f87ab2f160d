import Byway
import BywayLineLayer
import NIOCore

/// Carries the bytes of a `StreamChannel` over one SSH channel.
///
/// Back-pressure is the channel's own. Bytes that its owner does not read stay in libssh2, up to the window. Bytes that the
/// server does not accept stay here, and make the channel unwritable. Lives on the connection's event loop.
final class SSHChannelCarrier: StreamCarrier {
  /// The maximum of bytes read ahead of the owner.
  private static let readAhead = 256 * 1024
  /// The maximum of bytes kept while the server or the network accepts none: a few packets.
  private static let gathering = 128 * 1024
  /// The time for which the end of a command's output waits for its exit.
  private static let patience = TimeAmount.milliseconds(250)

  /// The direction from the server.
  private enum Input {
    case open
    /// The owner has to read first.
    case paused
    case ended
  }

  /// The direction to the server.
  private enum Output {
    case open
    /// It ends after the pending bytes.
    case ending
    case ended
  }

  private let connection: SSHConnection
  private let channel: SSHChannel
  private let command: CommandRun?
  private var stream: StreamChannel?
  private var pending = ByteBuffer()
  private var unconsumed = 0
  private var input = Input.open
  private var output = Output.open

  private init(_ channel: SSHChannel, of connection: SSHConnection, command: CommandRun?) {
    self.channel = channel
    self.connection = connection
    self.command = command
  }

  /// Creates the NIO channel, which is not active yet.
  static func carry(_ channel: SSHChannel, of connection: SSHConnection, command: CommandRun? = nil) -> StreamChannel {
    let carrier = SSHChannelCarrier(channel, of: connection, command: command)
    let stream = StreamChannel(on: connection.eventLoop, carrier: carrier, parent: connection.channel)
    carrier.stream = stream
    connection.carriers.append(carrier)
    return stream
  }

  // MARK: For the connection

  /// Delivers the received bytes, as fast as the owner reads them.
  func receive() throws(SSHError) {
    // Always read this, because unread error output would block the rest. Other channels have none.
    while case .bytes(let bytes) = try channel.read(.standardError) { command?.log(bytes) }
    while stream != nil, input != .ended {
      guard unconsumed < Self.readAhead else {
        input = .paused
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
    if input == .ended, channel.isClosedByServer { closedByServer() }
  }

  /// Sends the pending bytes, as far as the server and the network accept them.
  func transmit() throws(SSHError) {
    guard stream != nil else { return }
    while pending.readableBytes > 0, connection.canSend {
      let count = try channel.write(pending)
      guard count > 0 else { break }
      pending.moveReaderIndex(forwardBy: count)
    }
    if output == .ending, pending.readableBytes == 0, try channel.endOutput() { output = .ended }
    stream?.drained()
  }

  /// Ends the channel after the connection was lost.
  func lost(_ error: BywayError) {
    stream.take()?.ended(error)
  }

  // MARK: The far end's end

  private func inputEnded() {
    input = .ended
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

  /// Runs an operation. An error that concerns only this channel, because its remote end closed it, closes the channel. Any
  /// other error ends the connection.
  private func attempt(_ body: () throws(SSHError) -> Void) {
    guard !connection.isEnded else { return }
    do throws(SSHError) {
      try body()
    } catch {
      // The next turn meets the same error, and reports it to all channels.
      connection.pump()
    }
  }

  // MARK: StreamCarrier

  var room: Int {
    guard output == .open, stream != nil, channel.sendWindow > 0, connection.channel?.isWritable == true else {
      return 0
    }
    return max(0, Self.gathering - pending.readableBytes)
  }

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
    guard input == .paused, unconsumed <= Self.readAhead / 2 else { return }
    input = .open
    // The socket reports no event for bytes that libssh2 already has.
    connection.pump()
  }

  func closeOutput() {
    if output == .open { output = .ending }
    flush()
  }

  /// Drops the bytes that the server does not accept now, as a socket does.
  func close() {
    flush()
    guard let stream = stream.take() else { return }
    release()
    stream.ended(nil)
  }
}
