import Foundation
import Testing

@testable import BywayLineLayer

@Suite("Test vectors")
struct VectorTests {
  @Test("each file of test vectors has its entries")
  func count() {
    #expect(Vector.all(in: "frames.txt").count >= 20)
    #expect(Vector.all(in: "cobs.txt").count >= 16)
    #expect(Vector.all(in: "damaged.txt").count >= 13)
    #expect(Vector.all(in: "streams.txt").count >= 16)
    #expect(Vector.all(in: "attacks.txt").count >= 40)
  }

  @Test("the codec encodes each frame as its vector states", arguments: Vector.all(in: "frames.txt"))
  func encoding(_ vector: Vector) throws {
    let frame = try #require(vector.frame)
    #expect(Wire.bytes(of: frame, seal: vector.seal) == vector.bytes("wire"))
  }

  @Test("the codec decodes each frame as its vector states", arguments: Vector.all(in: "frames.txt"))
  func decoding(_ vector: Vector) throws {
    let frame = try #require(vector.frame)
    #expect(Wire.frames(in: vector.bytes("wire"), seal: vector.seal) == [frame])
  }

  @Test("COBS encodes and decodes as its vectors state", arguments: Vector.all(in: "cobs.txt"))
  func cobs(_ vector: Vector) {
    var wire: [UInt8] = []
    COBS.encode(vector.bytes("plain"), into: &wire)
    #expect(wire == vector.bytes("wire"))
    wire.removeLast()
    #expect(COBS.decode(&wire))
    #expect(wire == vector.bytes("plain"))
  }

  @Test("the receive window assembles each stream as its vector states", arguments: Vector.all(in: "streams.txt"))
  func streams(_ vector: Vector) throws {
    let window = try #require(vector.values["window"].flatMap { Int($0) })
    var receive = ReceiveWindow(capacity: window * Unit.size)
    var stream: [UInt8] = []
    for case .data(let header, let payload) in vector.frames {
      _ = receive.receive(number: header.number, payload: payload, isLast: header.isLast)
      while let piece = receive.takeNext() {
        stream += piece
        receive.consumed(piece.count)
      }
    }
    #expect(stream == vector.bytes("stream"))
    let arrivals = receive.arrivals(within: 128)
    let runs = arrivals.runs.map { "\($0)" }.joined(separator: ",")
    #expect(
      "next=\(arrivals.next) runs=\(runs) finished=\(receive.isFinished ? "yes" : "no")" == vector.values["state"])
  }

  @Test("the codec drops each damaged frame of the vectors", arguments: Vector.all(in: "damaged.txt"))
  func damaged(_ vector: Vector) {
    #expect(Wire.frames(in: vector.bytes("wire"), seal: vector.seal).isEmpty)
  }

  @Test("the implementation in Python passes the same vectors")
  func otherLanguage() throws {
    let python = Process()
    python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    python.arguments = ["python3", "-B", Vector.folder.appendingPathComponent("check.py").path]
    try python.run()
    python.waitUntilExit()
    #expect(python.terminationStatus == 0)
  }
}
