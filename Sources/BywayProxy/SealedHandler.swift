import Byway
import HTTPWire

/// Stands before the link of a proxy that inspects: what came to it inside TLS leaves inside TLS, or not at all.
final class SealedHandler: ExchangeHandler {
  private let next: any ExchangeHandler

  init(before next: any ExchangeHandler) {
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let isSecret = request.fields.withValue(of: .scheme) { FieldGrammar.equal($0, lowercased: "https") } ?? false
    guard isSecret, !request.fields.contains(.targetForm) else { return next.begin(request, respondingTo: sink) }
    sink.fail(
      BywayError(
        .misdirected, "This request came over https and would have been forwarded unencrypted, so it was refused.",
        processing: .none))
    return DiscardingRequestSink()
  }
}
