import Byway
import BywayDevices
import BywayHTTPWire
import NIOCore

/// Answers requests for the gateway's claim, and passes on all others. It is the first handler of the gateway, so no processing of
/// requests for the origin applies to it.
final class ClaimHandler: ExchangeHandler {
  private let answer: ByteBuffer
  private let next: any ExchangeHandler

  init(_ claim: DeviceClaim, before next: any ExchangeHandler) {
    answer = ByteBuffer(string: "\(claim.json)\n")
    self.next = next
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    guard Self.isMeant(request) else { return next.begin(request, respondingTo: sink) }
    let fields = request.fields
    func isMethod(_ name: StaticString) -> Bool { fields.withValue(of: .method) { $0.equals(name) } ?? false }
    let isBodiless = isMethod("HEAD")
    var head = FieldSection()
    guard isBodiless || isMethod("GET") else {
      head.append(.status, "405")
      head.append(name: "allow", value: "GET, HEAD")
      head.append(.contentLength, "0")
      sink.head(head, isComplete: true)
      return DiscardingRequestSink()
    }
    head.append(.status, "200")
    head.append(.contentType, "application/json")
    head.append(.contentLength, String(answer.readableBytes))
    // A reload may change the name.
    head.append(name: "cache-control", value: "no-store")
    sink.head(head, isComplete: isBodiless)
    if !isBodiless {
      sink.write(answer)
      sink.finish(trailers: nil)
    }
    return DiscardingRequestSink()
  }

  /// Whether a request is for the claim. In absolute form it may be for another server.
  private static func isMeant(_ request: borrowing ExchangeHead) -> Bool {
    let path = DeviceClaim.path
    let isPath =
      request.fields.withValue(of: .path) { target in
        // Without a query.
        let end = target.firstOffset(of: UInt8(ascii: "?"), from: 0) ?? target.count
        return UnsafeRawBufferPointer(rebasing: target[..<end]).equals(path)
      } ?? false
    return isPath && !request.isAbsolute
  }
}
