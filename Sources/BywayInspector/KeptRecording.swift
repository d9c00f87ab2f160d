import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore

/// An exchange as `--replay` answers with it.
enum KeptRecording {
  /// `nil` where too little of it is known: it still runs, was a tunnel, or not all of its bodies was kept.
  static func of(_ sighting: Sighting, _ view: SightingView) -> ByteBuffer? {
    let (asked, given) = (sighting.requestBody, sighting.responseBody)
    var exchange = view.traced(sighting)
    guard !sighting.isRunning, exchange.request.method != .connect, !exchange.request.headerFields.contains(.upgrade),
      sighting.failure != nil || exchange.response != nil,
      asked.kept.readableBytes == asked.count, given.kept.readableBytes == given.count
    else { return nil }
    let body = exchange.responseBody
    if exchange.request.method != .head {
      // It is another length where a secret was replaced.
      if body.kept.readableBytes != given.count { exchange.response?.headerFields[.contentLength] = nil }
      if body.isRestored { exchange.response?.headerFields[.contentEncoding] = nil }
    }
    let isAsItWas = body.kept == given.kept
    return RecordingFormat.whole(
      exchange, requestBody: asked.kept,
      pieces: isAsItWas
        ? pieces(
          of: given, since: sighting.begun + (exchange.sending + exchange.waiting) / .milliseconds(1),
          receiving: exchange.receiving)
        : [(exchange.receiving, body.kept)],
      trailers: view.trailers(of: sighting),
      error: sighting.failure.map { BywayError($0.code, $0.message, processing: .possible) })
  }

  /// By when they came, as far as that is known.
  private static func pieces(
    of body: Sighting.KeptBody, since start: Double, receiving: Duration
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
