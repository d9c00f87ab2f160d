import Byway
import Logging
import TestTools
import Testing
import UnixTransport

@testable import BywayCommand
@testable import BywayDaemon

/// The interceptors that the options of a daemon ask for.
@Suite struct InterceptorOptionsTests {
  private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private struct Added: Interceptor {
    func intercept(_ request: Request, next: Next) async throws -> Response { try await next(request) }
  }

  @Test("interceptors that are added come last, but compression at the end of the list stays after them")
  func order() throws {
    let stub = try folder.write("### GET /\nHTTP/1.1 200\n", to: "stub")
    func names(_ options: [String], atGateway: Bool = false) throws -> [String] {
      try InterceptorOptions.parse(options).interception(
        at: atGateway ? .gateway : .client, upgrades: [], with: InterceptionFiles(TransportRegistry([UnixTransport()])),
        logger: quiet
      ).before([Added(), Added()]).map { "\(type(of: $0))" }
    }
    let (plugin, other) = (["--interceptor", "unix:/a?as=one"], ["Added", "Added"])
    #expect(try names([]) == other)
    #expect(try names(["--compress"]) == other + ["Compress"])
    #expect(try names(["--stub", stub] + plugin) == ["SharedPlugin", "StubFile"] + other)
    #expect(try names(["--compress", "--stub", stub] + plugin) == ["SharedPlugin", "StubFile"] + other + ["Compress"])
    #expect(
      try names(["--compress", "--stub", stub] + plugin, atGateway: true) == ["Compress", "SharedPlugin", "StubFile"]
        + other)
    #expect(
      try names(["--compress", "--stub", stub, "--interceptors", "compress,stub,one"] + plugin)
        == ["Compress", "StubFile", "SharedPlugin"] + other)
  }
}
