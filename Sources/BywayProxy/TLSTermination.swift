package import Byway
import HTTPWire
import Logging
package import NIOCore

/// Stands in for servers: takes the TLS that clients of a proxy have with them off their tunnels.
package protocol TLSTermination: Sendable {
  /// Whether tunnels to this host are ended here.
  /// - Throws: where they would be, but no server can be called that.
  func terminates(_ host: String) throws(BywayError) -> Bool

  /// Begins TLS as this host's server. Succeeds when bytes may be exchanged; the channel does not read yet.
  func begin(on channel: any Channel, as host: String) -> EventLoopFuture<Void>
}

/// A tunnel that ends at this proxy: what comes through it is requests to https at that one host.
final class TerminatedTunnel: RequestSink {
  private let carrier: TunnelCarrier
  /// Kept until the tunnel is over.
  private var connection: IngressConnection?

  init(on eventLoop: any EventLoop) {
    carrier = TunnelCarrier(on: eventLoop)
  }

  /// - Parameters:
  ///   - target: of the CONNECT.
  ///   - next: takes the requests.
  func begin(
    to target: LinkAddress.HostPort, by termination: any TLSTermination, before next: any ExchangeHandler,
    _ configuration: ServerConfiguration, respondingTo sink: any ResponseSink
  ) {
    guard let channel = carrier.channel else { return }
    do {
      try channel.syncOptions?.setOption(.autoRead, value: false)
      try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    } catch {
      return sink.fail(BywayError(error))
    }
    sink.head([":status": "200"], isComplete: false)
    carrier.open(to: .client(sink))
    let handler = InspectedHandler(target, before: next)
    termination.begin(on: channel, as: target.host).assumeIsolated().whenComplete { result in
      do {
        _ = try result.get()
        self.connection = try IngressConnection.start(on: channel, handler: handler, configuration: configuration)
      } catch {
        configuration.logger.warning("A tunnel was not inspected", metadata: ["reason": "\(BywayError(error).message)"])
        channel.close(promise: nil)
      }
    }
  }

  func write(_ bytes: ByteBuffer) {
    carrier.received(bytes)
  }

  func finish(trailers: FieldSection?) {
    carrier.inputEnded(isOver: false)
  }

  func cancel(_ reason: BywayError) {
    carrier.ended(reason)
  }

  func didConsumeResponse(_ bytes: Int) {
    carrier.credited(bytes)
  }
}

/// Says of requests from inside a tunnel where they want to go.
private final class InspectedHandler: ExchangeHandler {
  private let target: LinkAddress.HostPort
  private let next: any ExchangeHandler

  init(_ target: LinkAddress.HostPort, before next: any ExchangeHandler) {
    self.target = target
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    let authority = request.fields.value(of: .authority) ?? request.fields.value(of: .host) ?? ""
    guard let named = LinkAddress.HostPort(authority), !request.fields.asksForTunnel,
      HostName(named.host) == HostName(target.host), named.port ?? 443 == target.port ?? 443
    else {
      let message = "The tunnel leads to \(target.host), and the request wants to go to \"\(authority)\"."
      sink.fail(BywayError(.misdirected, message, processing: .none))
      return DiscardingRequestSink()
    }
    request.fields.set(.scheme, "https")
    request.fields.remove(.targetForm)
    return next.begin(request, respondingTo: sink)
  }
}
