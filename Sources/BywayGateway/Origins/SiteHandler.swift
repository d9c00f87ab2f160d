import Byway
import BywayHTTPWire
import NIOCore

/// Translates between the client's name and the own name of an origin that needs requests with its own name.
final class SiteHandler: ExchangeHandler {
  private let own: SiteName
  private let next: any ExchangeHandler

  init(_ own: SiteName, before next: any ExchangeHandler) {
    self.own = own
    self.next = next
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    guard let client = SiteName(of: request) else {
      // Without a host from the client, there is no name to translate to.
      request.set(.authority, own.authorityText)
      return next.begin(request, respondingTo: sink)
    }
    guard client != own else { return next.begin(request, respondingTo: sink) }
    let translation = SiteTranslation(client: client, own: own)
    request.edit { translation.translateRequest(&$0) }
    return next.begin(request, respondingTo: TranslatedResponse(translation, before: sink))
  }
}

/// Translates the head of a response on its way to the client.
private final class TranslatedResponse: ResponseSink {
  private let translation: SiteTranslation
  private let next: any ResponseSink

  init(_ translation: SiteTranslation, before next: any ResponseSink) {
    self.translation = translation
    self.next = next
  }

  func informational(_ head: FieldSection) {
    var head = head
    translation.translateResponse(&head)
    next.informational(head)
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    var head = head
    translation.translateResponse(&head)
    next.head(head, isComplete: isComplete)
  }

  func write(_ bytes: ByteBuffer) { next.write(bytes) }
  func finish(trailers: FieldSection?) { next.finish(trailers: trailers) }
  func fail(_ error: BywayError) { next.fail(error) }
  func didConsumeRequest(_ bytes: Int) { next.didConsumeRequest(bytes) }
  func replayRequest() -> Bool { next.replayRequest() }
}
