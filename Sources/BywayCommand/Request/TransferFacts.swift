import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// The facts about a transfer that can be reported at its end.
struct TransferFacts: Sendable {
  let request: HTTPRequest
  let framing: Link.Framing
  let file: String?
  var response: HTTPResponse?
  private(set) var redirects = 0
  private var redirected: HTTPRequest?
  var sent = 0
  var received = 0
  /// The time until the response's head.
  var firstByte = TimeAmount.zero
  var total = TimeAmount.zero

  init(request: HTTPRequest, framing: Link.Framing, file: String?) {
    self.request = request
    self.framing = framing
    self.file = file
  }

  mutating func follow(_ redirect: HTTPRequest) {
    redirects += 1
    redirected = redirect
  }

  var url: String { Self.url(of: request) }

  /// The URL of the request that was answered in the end.
  var lastURL: String { Self.url(of: redirected ?? request) }

  private static func url(of request: HTTPRequest) -> String {
    "\(request.scheme ?? "http")://\(request.authority ?? "")\(request.path ?? "/")"
  }
}

/// The facts about a transfer while it is running. Safe on any thread.
final class TransferRecord: Sendable {
  private let start = NIODeadline.now()
  private let state: Mutex<TransferFacts>

  init(_ facts: TransferFacts) {
    state = Mutex(facts)
  }

  var facts: TransferFacts {
    var facts = state.withLock { $0 }
    facts.total = .now() - start
    return facts
  }

  func responded(_ head: HTTPResponse) {
    let time = NIODeadline.now() - start
    state.withLock { facts in
      facts.response = head
      facts.firstByte = time
    }
  }

  func redirected(to request: HTTPRequest) { state.withLock { $0.follow(request) } }
  func sent(_ bytes: Int) { state.withLock { $0.sent += bytes } }
  func received(_ bytes: Int) { state.withLock { $0.received += bytes } }
}
