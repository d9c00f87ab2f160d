package import NIOCore

/// The counters and signals of a line's hardware, as far as its driver reports them.
package struct LineInstruments: Sendable, Hashable {
  /// The signals that the remote end asserts, each on a wire of its own (ioctl_tty(2), TIOCMGET).
  package struct ModemLines: Sendable, Hashable {
    package let clearToSend: Bool
    package let dataSetReady: Bool
    package let carrier: Bool

    package init(clearToSend: Bool, dataSetReady: Bool, carrier: Bool) {
      self.clearToSend = clearToSend
      self.dataSetReady = dataSetReady
      self.carrier = carrier
    }
  }

  /// Since the driver has the port (TIOCGICOUNT).
  package struct ReceiveErrors: Sendable, Hashable {
    package let framing: Int
    package let parity: Int
    package let overruns: Int

    package init(framing: Int, parity: Int, overruns: Int) {
      self.framing = framing
      self.parity = parity
      self.overruns = overruns
    }
  }

  /// A query to a line's channel, sent as a user outbound event. Channels that have no instruments fail it.
  package struct Question: Sendable {
    package let answer: EventLoopPromise<LineInstruments>
  }

  /// `nil` where the driver does not tell.
  package var modemLines: ModemLines?
  package var receiveErrors: ReceiveErrors?

  package init(modemLines: ModemLines? = nil, receiveErrors: ReceiveErrors? = nil) {
    self.modemLines = modemLines
    self.receiveErrors = receiveErrors
  }

  /// Reads those of a line's channel.
  package static func read(from channel: any Channel) async -> LineInstruments {
    let answer = channel.eventLoop.makePromise(of: LineInstruments.self)
    channel.triggerUserOutboundEvent(Question(answer: answer)).whenFailure { answer.fail($0) }
    return (try? await answer.futureResult.get()) ?? LineInstruments()
  }
}
