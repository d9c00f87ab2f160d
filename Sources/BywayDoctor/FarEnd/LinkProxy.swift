package import Byway
import BywayLineLayer
import BywayPrimitives
import HTTPTypes
package import NIOCore

/// A client that asks a running `byway proxy` of this machine about its link, by an OPTIONS request that it must not forward
/// (RFC 9110 §7.6.2).
package struct LinkProxy: Sendable {
  package struct Answer: Sendable, Hashable {
    package let roundTrip: TimeAmount
    package let lineFacts: [String]
  }

  private static let bodyLimit = 4096
  private static let patience = Duration.seconds(5)

  package let address: String
  let client: BywayClient

  /// Finds the proxy that a process runs, with its first answer; `nil` if it runs none, or this user cannot reach it.
  package static func find(of processID: Int32, in transports: TransportRegistry) async -> (LinkProxy, Answer)? {
    for address in transports.listeners(of: processID) {
      guard let proxy = try? LinkProxy(address, in: transports) else { continue }
      if let answer = try? await proxy.ask() { return (proxy, answer) }
      await proxy.shutDown()
    }
    return nil
  }

  init(_ address: String, in transports: TransportRegistry) throws {
    self.address = address
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    configuration.timeout = Self.patience
    client = BywayClient(try transports.link("\(address)?http=1.1"), configuration: configuration)
  }

  /// Asks the proxy for the round-trip time of its link.
  /// - Throws: ``BywayError`` if there was no round trip, or this is no such proxy.
  package func ask() async throws -> Answer {
    var request = try Request(.options, url: "http://localhost/")
    request.head.headerFields[.maxForwards] = "0"
    let response = try await client.execute(request)
    let body = try await response.body.collect(upTo: Self.bodyLimit)
    // The client removes Proxy-Status, because an HTTP/1.1 server is no hop of Byway; the problem document remains (RFC 9457).
    if response.head.status.code >= 500, let problem = JSON(parsing: String(buffer: body)),
      problem["code"]?.text != nil,
      let detail = problem["detail"]?.text
    {
      throw BywayError(.linkUnavailable, detail.visible)
    }
    guard let name = HTTPField.Name("Server-Timing"), let field = response.head.headerFields[name],
      let roundTrip = Self.roundTrip(in: field)
    else {
      throw BywayError(.unsupported, "\(address) is not a byway proxy.")
    }
    let lines = String(buffer: body).split(separator: "\n").map { String($0).visible }
    return Answer(roundTrip: roundTrip, lineFacts: lines.filter { $0.hasPrefix(LineStatistics.reportMark) })
  }

  package func shutDown() async { await client.shutDown() }

  /// `link;dur=5.739`
  static func roundTrip(in field: String) -> TimeAmount? {
    guard field.hasPrefix("link;dur="), let milliseconds = Double(field.dropFirst(9)), (0...1e6).contains(milliseconds)
    else { return nil }
    return .nanoseconds(Int64(milliseconds * 1e6))
  }
}
