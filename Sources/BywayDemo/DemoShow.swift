import BywayDaemonProcess
import NIOCore

/// The interactive demo, which runs until its user quits.
struct DemoShow: Service {
  let stage: DemoStage
  let console: DemoConsole

  private static let patience = Duration.seconds(1)

  var statusLine: String { "The demo is at \(stage.url)" }
  var readyNotices: [ReadyNotice] { [ReadyNotice(words: "demo ready on \(stage.url)", facts: [("demo", stage.url)])] }

  func waitUntilEnded() async throws {
    let watching = Task {
      await console.run()
      await stage.stop(within: Self.patience)
    }
    defer { watching.cancel() }
    try await stage.waitUntilEnded()
  }

  func stop() async {
    await stage.stop(within: Self.patience)
  }
}
