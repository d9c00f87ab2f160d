import NIOCore

/// Adds the login at a console to a transport: its channels lead to the gateway that the login has found or started.
struct ConsoleTransport: LayeredTransport {
  let base: any Transport
  let settings: ConsoleSettings
  var goal = ConsoleLogin.Goal.gateway

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    if let refusal = ConsolePasswords.refusal(of: address, settings, at: .now()) {
      throw BywayError(refusal, settings, on: address)
    }
    let console = try await base.connect(to: address, context: context)
    let opened = console.eventLoop.flatSubmit { () -> EventLoopFuture<Void> in
      let opened = console.eventLoop.makePromise(of: Void.self)
      do {
        try console.pipeline.syncOperations.addHandler(
          ConsoleHandler(
            settings, goal: goal, address: address, deadline: context.deadline, logger: context.logger, opened: opened,
            at: console.eventLoop.now))
        console.startReading()
      } catch {
        console.close(promise: nil)
        opened.fail(error)
      }
      return opened.futureResult
    }
    try await opened.get()
    return console
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    throw BywayError(
      .linkUnavailable, "\(address) logs in, and so cannot listen: leave out login= and shell= at the listening end.",
      processing: .none)
  }
}
