import NIOCore

/// Passes each exchange on to the handler that is current when it begins; the exchange keeps that one to its end.
///
/// So the rules of a connection can change while it is open. Lives on one event loop.
package final class CurrentHandler: ExchangeHandler {
  package var handler: any ExchangeHandler

  package init(_ handler: any ExchangeHandler) {
    self.handler = handler
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    handler.begin(request, respondingTo: sink)
  }
}
