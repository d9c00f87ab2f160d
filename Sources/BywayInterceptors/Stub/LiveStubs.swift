package import Byway
import BywayPrimitives
package import HTTPTypes

/// A stub that an inspector's user has made: one rule of a ``StubFile``, which cannot name other files.
package struct LiveStub: LiveRule {
  package static let terms = RuleTerms("stub", count: 32, size: 1 << 20, totalSize: 4 << 20)

  /// The first line of the rule: `GET /status delay=2s`.
  package let title: String
  package let byteCount: Int
  private let rule: StubRule

  /// - Throws: `BywayError` with code `invalidRequest` if the text is not one rule; the message names the line.
  package init(_ text: String) throws {
    let rules = try StubFileParser(text, path: "The stub", folder: nil).rules()
    guard let rule = rules.first, rules.count == 1 else {
      throw BywayError(
        .invalidRequest, "A stub is one rule, which begins with ### METHOD PATH: here are \(rules.count).",
        processing: .none)
    }
    self.rule = rule
    byteCount = text.utf8.count
    let line = text.utf8.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "###".utf8) }
    title = line.map { Substring($0).dropFirst(3).trimmed } ?? ""
  }

  package func matches(_ request: HTTPRequest) -> Bool { rule.fits(request) }

  func respond(to request: Request) async throws -> Response {
    try await rule.answer.respond(request).answering(request.head)
  }
}

/// An interceptor that answers by the first stub that matches. While there are no stubs, requests bypass it. Safe on any thread.
package final class LiveStubs: OccasionalInterceptor {
  package let list = RuleList<LiveStub>()

  package init() {}

  package var isNeeded: Bool { list.count > 0 }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let stub = list.first(for: request.head) else { return try await next(request) }
    return try await stub.respond(to: request)
  }
}
