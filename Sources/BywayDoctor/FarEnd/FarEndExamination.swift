import Byway
import NIOCore

/// Examines the peer of a link that can be opened: a gateway, and its origin.
struct FarEndExamination: Sendable {
  private let link: Link

  init(_ link: Link) {
    self.link = link
  }

  func examine(in examination: Examination) async throws(Examination.Over) {
    let client = try await examination.make(GatewayCheck(link: link))
    try await examination.make(OriginCheck(client: client, bareLink: link.framing == .http1 ? link : nil))
  }
}
