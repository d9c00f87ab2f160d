package import Byway
package import HTTPTypes
package import NIOCore

extension RecordingFormat {
  /// One exchange that is over, as a ``Recorder`` would have written it. Several behind each other are a file that ``Replay`` reads.
  /// - Parameters:
  ///   - exchange: with a body of the response that is whole; its secrets are left as they are here.
  ///   - requestBody: as it was, all of it: only its digest is written.
  ///   - pieces: of the response's body, each with the time since the one before, or since the head.
  ///   - error: that the exchange ended with.
  package static func whole(
    _ exchange: TracedExchange, requestBody: ByteBuffer, pieces: [(after: Duration, bytes: ByteBuffer)],
    trailers: HTTPFields?, error: BywayError?
  ) -> ByteBuffer {
    var digest = BodyDigest()
    digest.update(requestBody)
    let subject = RecordingSubject(exchange.request, body: digest.text)
    let (opening, position) = opening(subject.method, subject.target)
    var result = ByteBuffer(string: opening)
    result.setString(subject.body, at: position)
    let pause = exchange.sending + exchange.waiting
    if let response = exchange.response {
      result.writeString(head(response, after: pause))
      for piece in pieces {
        var (rest, time) = (piece.bytes, piece.after)
        // The reader takes no piece that is larger.
        while let part = rest.readSlice(length: min(rest.readableBytes, 1 << 20)), part.readableBytes > 0 {
          result.writeImmutableBuffer(chunk(part, after: time))
          time = .zero
        }
      }
    }
    if let error {
      result.writeString(failure(error, after: exchange.response == nil ? pause : .zero))
    } else {
      result.writeString(end(trailers))
    }
    return result
  }
}
