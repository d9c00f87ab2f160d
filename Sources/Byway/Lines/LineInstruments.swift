package import NIOCore

/// The readings of a line's hardware, as far as its driver reports them.
package struct LineInstruments: Sendable, Hashable {
  /// The wires that the remote end asserts (ioctl_tty(2), TIOCMGET).
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

  /// Counters since the driver opened the port (TIOCGICOUNT).
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

  /// A user outbound event that asks a line's channel for its readings. Channels without instruments fail it.
  package struct Question: Sendable {
    package let answer: EventLoopPromise<LineInstruments>
  }

  /// `nil` if the driver does not report them.
  package var modemLines: ModemLines?
  package var receiveErrors: ReceiveErrors?

  package init(modemLines: ModemLines? = nil, receiveErrors: ReceiveErrors? = nil) {
    self.modemLines = modemLines
    self.receiveErrors = receiveErrors
  }

  /// Returns the readings of a line's channel.
  package static func read(from channel: any Channel) async -> LineInstruments {
    let answer = channel.eventLoop.makePromise(of: LineInstruments.self)
    channel.triggerUserOutboundEvent(Question(answer: answer)).whenFailure { answer.fail($0) }
    return (try? await answer.futureResult.get()) ?? LineInstruments()
  }
}
