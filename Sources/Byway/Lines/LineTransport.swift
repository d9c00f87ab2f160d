import BywayLineLayer
import Logging
import NIOCore

/// Adds the line layer to a transport whose medium is a line, and returns its sessions as ordinary channels.
///
/// A session outlives its line: when the line's channel closes, because a cable was pulled, the transport is asked for the next one until
/// the session's grace period is over.
struct LineTransport: LayeredTransport {
  let base: any Transport
  let properties: LineProperties
  var times = LineLayerConfiguration.defaults
  /// The time limit of one attempt to reopen a lost line.
  var attempt = TimeAmount.seconds(5)

  func audience(of address: LinkAddress) -> Audience { base.audience(of: address) }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let eventLoop = context.group.next()
    guard let shared = context.sharedLine else {
      return try await dialer(to: address, on: eventLoop, context).open(by: context.deadline)
    }
    return try await shared.connect(to: address, on: eventLoop, by: context.deadline) { offer in
      eventLoop.makeFutureWithTask {
        let dialer = try dialer(to: address, on: eventLoop, context)
        let channel = try await dialer.open(streams: offer, by: context.deadline)
        return SharedLine.Session(channel: channel, agreement: dialer.agreement)
      }
    }.get()
  }

  private func dialer(
    to address: LinkAddress, on eventLoop: any EventLoop, _ context: LinkContext
  ) throws -> LineDialer {
    let layer =
      try KnownLines.take(address)
      ?? LineLayer(.dialer, configuration: configuration(of: address), at: NIODeadline.now().uptimeNanoseconds)
    return LineDialer(layer, base: base, address: address, attempt: attempt, on: eventLoop, context: context)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let eventLoop = context.group.next()
    let lines = try await base.listen(
      on: address, context: LinkContext(group: eventLoop, logger: context.logger, deadline: context.deadline))
    let incarnation = UInt32.random(in: 1 ... .max)
    let layer = LineLayer(
      .listener(incarnation: incarnation), configuration: try configuration(of: address),
      at: NIODeadline.now().uptimeNanoseconds)
    let linger = address[option: "linger"].flatMap { Int64($0) }.map { TimeAmount.seconds($0) }
    return try await LineListener.start(layer, lines: lines, linger: linger, on: eventLoop, logger: context.logger)
  }

  private func configuration(of address: LinkAddress) throws -> LineLayerConfiguration {
    var configuration = times
    configuration.bytesPerSecond = properties.bytesPerSecond
    if properties.isClean {
      configuration.window = LineProperties.cleanWindow
      configuration.correction = 0
    }
    do {
      try configuration.check()
    } catch {
      throw BywayError(.invalidAddress, "\(address) cannot be used as a line: \(error).")
    }
    return configuration
  }
}
