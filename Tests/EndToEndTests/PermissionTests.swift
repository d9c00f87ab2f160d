import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Missing permissions of a user. Tests that run as root start the command as the user nobody.
  @Suite("Permissions") struct PermissionTests {
    private let folder: TemporaryFolder
    private let nobody: NobodysByway

    init() async throws {
      folder = try TemporaryFolder()
      nobody = try await NobodysByway(in: folder)
    }

    @Test("missing permission for a link's socket is reported") func linkSocket() async throws {
      let bare = try await BareGateway()
      nobody.forbid(bare.socket)
      let result = try await nobody.run(["request", "--link", "unix:\(bare.socket)", "http://device/"])
      EndToEnd.expect(result, code: 69, words: ["permission denied on \(bare.socket)", "?mode="])
      await bare.stop()
    }

    @Test("missing permission for the folder of a link's socket is reported") func directory() async throws {
      let closed = folder["closed"]
      try FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: false)
      nobody.forbid(closed)
      let result = try await nobody.run(["gateway", "--link", "unix:\(closed)/s", "--origin", "http://127.0.0.1:1"])
      chmod(closed, 0o700)
      EndToEnd.expect(result, code: 73, words: ["permission denied on \(closed)/s", "choose a directory"])
    }

    @Test("missing permission for the origin's socket is reported") func originSocket() async throws {
      let origin = try await OriginServer(on: .unix(folder["o"]))
      nobody.forbid(folder["o"])
      let open = folder["open"]
      try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
      chmod(open, 0o777)
      let gateway = try ChildProcess(
        nobody.program, nobody.prefix + ["gateway", "--link", "unix:\(open)/l", "--origin", "\(origin.endpoint)"])
      _ = try await gateway.errorLine(containing: "ready on", within: .seconds(10))
      let problem = try await Curl.fetch(
        "--http2-prior-knowledge", "--unix-socket", "\(open)/l", "http://device/"
      ).problem()
      #expect(problem.status == 503)
      #expect(problem.words.contains("No permission to connect to"), "\(problem.words)")
      await gateway.stop()
      await origin.stop()
    }
  }
}
