import TestPeers
import Testing

extension Interop {
  /// A gRPC service and client without knowledge of links.
  @Suite("gRPC") struct GRPCTests {
    private struct Answer: Decodable, Equatable {
      struct Failure: Decodable, Equatable {
        var code, details: String
        var why: String?
      }

      var unary: Int
      var trailers: [String: String]
      var code: String
      var count, total, rounds: Int
      var failure: Failure
      var unknown: String
      var unknownTrailers: [String]
      var many: Int
    }

    @Test(
      "gRPC works with all four kinds of call, statuses and trailers, and two hundred concurrent calls",
      arguments: [LinkKind.unix, .exec, .sshSocket])
    func calls(_ kind: LinkKind) async throws {
      let server = try Script.grpc.start("serve")
      let port = try await server.outputLine(containing: "ready ", within: .seconds(20)).dropFirst("ready ".count)
      let passage = try await Passage(over: kind, to: "h2c://127.0.0.1:\(port)")
      let answer = try await Script.grpc.run("call", passage.host, as: Answer.self, within: .seconds(120))
      #expect(
        answer
          == Answer(
            unary: 100_000, trailers: ["x-length": "100000"], code: "OK", count: 1000, total: 1_000_000, rounds: 20,
            failure: .init(code: "FAILED_PRECONDITION", details: "not now: 100%", why: "asked-for"),
            unknown: "UNIMPLEMENTED", unknownTrailers: [], many: 200))
      await passage.stop()
      await server.stop()
    }
  }
}
