import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// What a user may not do. As root, to whom all is allowed, the tests run the command as nobody.
  @Suite("Permissions") struct PermissionTests {
    private let folder: TemporaryFolder
    /// The program to start, and the arguments that come before the command's own.
    private let program: String
    private let prefix: [String]

    init() throws {
      folder = try TemporaryFolder()
      guard geteuid() == 0 else {
        program = try BywayProcess.command()
        prefix = []
        return
      }
      // Where the command was built, nobody may have no access.
      let copy = folder["byway"]
      try FileManager.default.copyItem(atPath: BywayProcess.command(), toPath: copy)
      chmod(copy, 0o755)
      program = try Program.setpriv.path()
      prefix = ["--reuid=65534", "--regid=65534", "--clear-groups", copy]
    }

    /// Root may do all, and the owner of a file all that its mode lets owners do.
    private func forbid(_ path: String) {
      chmod(path, geteuid() == 0 ? 0o700 : 0o000)
    }

    @Test("a link's socket") func linkSocket() async throws {
      let bare = try await BareGateway()
      forbid(bare.socket)
      let result = try await Program.run(
        program, prefix + ["request", "--link", "unix:\(bare.socket)", "http://device/"])
      EndToEnd.expect(result, code: 69, words: ["permission denied on \(bare.socket)", "?mode="])
      await bare.stop()
    }

    @Test("the directory of a link's socket") func directory() async throws {
      let closed = folder["closed"]
      try FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: false)
      forbid(closed)
      let result = try await Program.run(
        program, prefix + ["gateway", "--link", "unix:\(closed)/s", "--origin", "http://127.0.0.1:1"])
      chmod(closed, 0o700)
      EndToEnd.expect(result, code: 73, words: ["permission denied on \(closed)/s", "choose a directory"])
    }

    @Test("the origin's socket") func originSocket() async throws {
      let origin = try await OriginServer(on: .unix(folder["o"]))
      forbid(folder["o"])
      let open = folder["open"]
      try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
      chmod(open, 0o777)
      let gateway = try ChildProcess(
        program, prefix + ["gateway", "--link", "unix:\(open)/l", "--origin", "\(origin.endpoint)"])
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
