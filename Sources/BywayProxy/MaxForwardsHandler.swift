import Byway
import BywayHTTPWire
import BywayLineLayer
import NIOCore

/// Decrements `Max-Forwards` of OPTIONS and TRACE requests, and answers them when it is 0 (RFC 9110 §7.6.2). So a client can ask
/// this proxy itself for the round-trip time of its link, in `Server-Timing`; the body has the line's statistics.
///
/// Lives on the link's event loop.
final class MaxForwardsHandler: ExchangeHandler {
  /// The limit for the answer to a PING. While no request is running, nothing else notices a peer that hangs.
  private static let patience = TimeAmount.seconds(10)

  private let link: (ExchangeHead) throws(BywayError) -> any Upstream
  private let next: any ExchangeHandler
  /// The running measurements. A client that asks while one runs gets its result too, so more clients cause no more PINGs.
  private var measurements: [ObjectIdentifier: EventLoopFuture<TimeAmount>] = [:]

  /// - Parameter link: returns the link that a request would use.
  init(before next: any ExchangeHandler, over link: @escaping (ExchangeHead) throws(BywayError) -> any Upstream) {
    self.link = link
    self.next = next
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    guard request.fields.contains(.maxForwards), let method = request.fields.value(of: .method),
      method == "OPTIONS" || method == "TRACE",
      let count = request.fields.value(of: .maxForwards).flatMap({ UInt32($0) })
    else { return next.begin(request, respondingTo: sink) }
    guard count == 0 else {
      request.set(.maxForwards, "\(count - 1)")
      return next.begin(request, respondingTo: sink)
    }
    guard method == "OPTIONS" else {
      sink.fail(BywayError(.unsupported, "This proxy does not answer TRACE: ask with OPTIONS.", processing: .none))
      return DiscardingRequestSink()
    }
    do throws(BywayError) {
      let link = try link(request)
      measure(link).assumeIsolated().whenComplete { result in
        switch result {
        case .success(let roundTrip): self.answer(sink, roundTrip, of: link)
        case .failure(let error): sink.fail(BywayError(error))
        }
      }
    } catch {
      sink.fail(error)
    }
    return DiscardingRequestSink()
  }

  private func measure(_ link: any Upstream) -> EventLoopFuture<TimeAmount> {
    let key = ObjectIdentifier(link)
    if let measurement = measurements[key] { return measurement }
    let ping = link.ping()
    let promise = ping.eventLoop.makePromise(of: TimeAmount.self)
    let measurement = promise.futureResult
    measurements[key] = measurement
    let limit = ping.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) {
      promise.fail(BywayError(.timedOut, "The far end of the link has not answered a PING.", processing: .none))
    }
    ping.cascade(to: promise)
    measurement.assumeIsolated().whenComplete { _ in
      limit.cancel()
      self.measurements[key] = nil
    }
    return measurement
  }

  private func answer(_ sink: any ResponseSink, _ roundTrip: TimeAmount, of link: any Upstream) {
    let body = (link.lineStatistics?.report ?? []).map { $0 + "\n" }.joined()
    // Milliseconds (Server Timing, W3C).
    let milliseconds = "\(Double(roundTrip.nanoseconds / 1000) / 1000)"
    sink.head(
      [
        ":status": "200", "server-timing": "link;dur=\(milliseconds)", "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store", "content-length": "\(body.utf8.count)",
      ], isComplete: body.isEmpty)
    guard !body.isEmpty else { return }
    sink.write(ByteBuffer(string: body))
    sink.finish(trailers: nil)
  }
}
