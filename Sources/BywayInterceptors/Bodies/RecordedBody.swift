import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// A recorder of one body as it passes: any number of chunks, then the end or a failure; neither, if the body is dropped.
protocol BodyRecorder: AnyObject, Sendable {
  func write(_ chunk: ByteBuffer) async
  func finish(_ trailers: HTTPFields?) async
  func fail(_ error: any Error) async
}

extension Body {
  /// Returns the same body, recorded as it passes. The reader waits for the recorder.
  func recorded(by recorder: any BodyRecorder) -> Body {
    let trailers = TrailerBox()
    return Body(
      RecordedBody(body: self, recorder: recorder, trailers: trailers), length: length, trailers: { trailers.value })
  }
}

private struct RecordedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let recorder: any BodyRecorder
  let trailers: TrailerBox

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(body: body, chunks: body.makeAsyncIterator(), recorder: recorder, trailers: trailers)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: Body
    var chunks: Body.AsyncIterator
    let recorder: any BodyRecorder
    let trailers: TrailerBox

    mutating func next() async throws -> ByteBuffer? {
      do {
        guard let chunk = try await chunks.next() else {
          trailers.value = await body.trailers()
          await recorder.finish(trailers.value)
          return nil
        }
        await recorder.write(chunk)
        return chunk
      } catch {
        await recorder.fail(error)
        throw error
      }
    }
  }
}

/// Trailers that the task reading a body shares with the body's user.
final class TrailerBox: Sendable {
  private let fields = Mutex<HTTPFields?>(nil)

  var value: HTTPFields? {
    get { fields.withLock { $0 } }
    set { fields.withLock { $0 = newValue } }
  }
}
