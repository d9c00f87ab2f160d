import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore

/// An exchange in the format of recordings that can be replayed.
enum KeptRecording {
  /// Returns the recording of an exchange; `nil` if it still runs, was a tunnel, or its bodies were not kept completely.
  static func of(_ inspected: InspectedExchange, _ view: InspectedExchangeView) -> ByteBuffer? {
    let (asked, given) = (inspected.requestBody, inspected.responseBody)
    var exchange = view.traced(inspected)
    guard !inspected.isRunning, !exchange.request.kind.asksForTunnel,
      inspected.failure != nil || exchange.response != nil,
      asked.kept.readableBytes == asked.count, given.kept.readableBytes == given.count
    else { return nil }
    let body = exchange.responseBody
    if exchange.request.method != .head {
      // The length has changed if a secret was replaced.
      if body.kept.readableBytes != given.count { exchange.response?.headerFields[.contentLength] = nil }
      if body.isRestored { exchange.response?.headerFields[.contentEncoding] = nil }
    }
    let isAsItWas = body.kept == given.kept
    return RecordingFormat.whole(
      exchange, requestBody: asked.kept,
      pieces: isAsItWas
        ? pieces(
          of: given, since: inspected.begun + (exchange.sending + exchange.waiting) / .milliseconds(1),
          receiving: exchange.receiving)
        : [(exchange.receiving, body.kept)],
      trailers: view.trailers(of: inspected),
      error: inspected.failure.map { BywayError($0.code, $0.message, processing: .possible) })
  }

  /// Returns the pieces of a body with their times of arrival, as far as these are known.
  private static func pieces(
    of body: InspectedExchange.KeptBody, since start: Double, receiving: Duration
  ) -> [(after: Duration, bytes: ByteBuffer)] {
    guard !body.arrivals.isEmpty else { return [(receiving, body.kept)] }
    var time = start
    var pieces: [(after: Duration, bytes: ByteBuffer)] = []
    var rest = body.kept
    var taken = 0
    for arrival in body.arrivals {
      guard let piece = rest.readSlice(length: arrival.end - taken) else { break }
      pieces.append((.milliseconds(max(0, arrival.time - time)), piece))
      (time, taken) = (max(time, arrival.time), arrival.end)
    }
    return pieces + [(.zero, rest)]
  }
}
