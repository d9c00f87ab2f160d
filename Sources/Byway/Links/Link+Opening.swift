package import NIOCore

extension Link {
  /// The transport that opens it; for a line, including the line layer, and for a console, including the login.
  public var transport: any Transport {
    guard let console else { return line.map { LineTransport(base: medium, properties: $0) } ?? medium }
    let login = ConsoleTransport(base: medium, settings: console)
    return line.map { LineTransport(base: login, properties: $0, attempt: .seconds(30)) } ?? login
  }

  /// Returns a channel to a shell at the far end that runs each line, without prompts and without an echo.
  /// - Throws: ``BywayError``.
  package func openShell(_ context: LinkContext) async throws -> any Channel {
    guard let console else {
      throw BywayError(
        .invalidAddress, "\(address) has no shell: add login=USER, or shell=byway if a shell answers without a login.")
    }
    return try await ConsoleTransport(base: medium, settings: console, goal: .commands)
      .connect(to: address, context: context)
  }
}
