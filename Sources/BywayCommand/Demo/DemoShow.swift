import NIOCore

/// The demo as it goes on until its user has seen enough.
struct DemoShow: Daemon {
  private static let patience = TimeAmount.seconds(1)

  let stage: DemoStage
  let console: DemoConsole

  func waitUntilEnded() async throws {
    let watching = Task {
      await console.run()
      await stage.stop(within: Self.patience)
    }
    defer { watching.cancel() }
    try await stage.waitUntilEnded()
  }

  func stop(within patience: TimeAmount) async {
    await stage.stop(within: patience)
  }
}
