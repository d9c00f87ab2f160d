package import Byway
package import HTTPTypes
package import NIOCore

extension RecordingFormat {
  /// Returns an exchange that is over, as a ``Recorder`` would have written it. Several in a row are a file that ``Replay`` reads.
  /// - Parameters:
  ///   - exchange: The exchange, with the complete body of the response. Its secrets are not replaced here.
  ///   - requestBody: The complete body, of which only the digest is written.
  ///   - pieces: The pieces of the response's body, each with the time since the previous one, or since the head.
  ///   - error: The error that the exchange ended with.
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
        // The reader accepts no larger piece.
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
