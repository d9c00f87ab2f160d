import BywayHTTPWire
import NIOCore
import Testing

@testable import BywayHTTP2Session

/// Positions of the frames that begin and end a request in the output of a session.
@Suite("Positions of frames in the output") struct DepartureTests {
  /// Returns the output, and the reported positions of requests in it.
  private func departures(quantum: Int, isWanted: Bool = true) throws -> (wire: [UInt8], told: [Departure]) {
    var configuration = HTTP2Configuration.defaults
    configuration.tellsDepartures = isWanted
    let session = HTTP2Session(role: .client, configuration: configuration, at: .uptimeNanoseconds(0))
    var wire: [UInt8] = []
    var told: [Departure] = []
    func transmit() {
      while session.wantsTransmit {
        guard let bytes = session.nextTransmit(maximum: quantum, at: .uptimeNanoseconds(1)) else { break }
        wire += bytes.readableBytesView
        while let event = session.nextEvent() { if case .departed(_, let departure) = event { told.append(departure) } }
      }
    }
    let head: FieldSection = [":method": "POST", ":scheme": "http", ":authority": "a", ":path": "/"]
    _ = try session.submitRequest(head, endStream: true)
    let upload = try session.submitRequest(head, endStream: false)
    session.write(upload, ByteBuffer(repeating: 1, count: 3000))
    transmit()
    _ = try session.submitRequest(head, endStream: true)
    session.finish(upload, trailers: nil)
    let trailing = try session.submitRequest(head, endStream: false)
    session.write(trailing, ByteBuffer(repeating: 2, count: 10))
    session.finish(trailing, trailers: ["a": "b"])
    transmit()
    return (wire, told)
  }

  /// Returns complete frames by position: type, stream, and whether each ends the stream.
  private func frames(_ wire: [UInt8]) -> [(bytes: Range<UInt64>, type: UInt8, ends: Bool)] {
    var found: [(Range<UInt64>, UInt8, Bool)] = []
    var at = 24
    while at + 9 <= wire.count {
      let length = Int(wire[at]) << 16 | Int(wire[at + 1]) << 8 | Int(wire[at + 2])
      found.append((UInt64(at)..<UInt64(at + 9 + length), wire[at + 3], wire[at + 4] & 1 == 1))
      at += 9 + length
    }
    return found
  }

  @Test(
    "the position of each head and end of a request is reported, for any size of output",
    arguments: [1, 100, 65_536])
  func places(quantum: Int) throws {
    let (wire, told) = try departures(quantum: quantum)
    let frames = frames(wire)
    let heads = frames.filter { $0.type == 1 }.map(\.bytes)
    #expect(heads.count == 5 && told.filter { $0.begins || $0.bytes == heads.last }.map(\.bytes) == heads)
    // A DATA frame before trailers does not end the stream, but no more of the body follows.
    let ends = frames.filter { ($0.type <= 1) && $0.ends }.map(\.bytes)
    #expect(Set(ends).isSubset(of: told.filter(\.ends).map(\.bytes)) && ends.count == 4)
    #expect(told.map(\.bytes.lowerBound) == told.map(\.bytes.lowerBound).sorted())
  }

  @Test("positions are not reported unless requested")
  func unwanted() throws {
    #expect(try departures(quantum: 100, isWanted: false).told.isEmpty)
  }
}
