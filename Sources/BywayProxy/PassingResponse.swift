import Byway
import BywayHTTPWire
import NIOCore

/// An exchange that passes its response on unchanged, and has to know how far it is.
protocol ResponseOwner: AnyObject {
  /// The client's sink; `nil` once the exchange is over.
  var sink: (any ResponseSink)? { get }
  /// The final head has come.
  func responseBegan()
  /// The response is complete, or has failed: ends the exchange.
  /// - Returns: the client's sink, on the first call.
  func responseEnded() -> (any ResponseSink)?
}

extension ResponseOwner {
  func responseBegan() {}
}

/// A response that passes through its owner unchanged.
final class PassingResponse<Owner: ResponseOwner>: ResponseSink {
  private let owner: Owner

  init(to owner: Owner) {
    self.owner = owner
  }

  func informational(_ head: FieldSection) {
    owner.sink?.informational(head)
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    owner.responseBegan()
    let sink = isComplete ? owner.responseEnded() : owner.sink
    sink?.head(head, isComplete: isComplete)
  }

  func write(_ bytes: ByteBuffer) {
    owner.sink?.write(bytes)
  }

  func finish(trailers: FieldSection?) {
    owner.responseEnded()?.finish(trailers: trailers)
  }

  func fail(_ error: BywayError) {
    owner.responseEnded()?.fail(error)
  }

  func didConsumeRequest(_ bytes: Int) {
    owner.sink?.didConsumeRequest(bytes)
  }

  func replayRequest() -> Bool { owner.sink?.replayRequest() ?? false }
}
