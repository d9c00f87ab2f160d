import ArgumentParser
import Byway
import NIOCore
import UnixSignals

/// `byway ping`
struct PingCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ping",
    abstract: "Measures round trips over a link.",
    discussion: """
      Any HTTP/2 at the far end answers, a gateway is not needed. Over a serial line, lines that begin with "line:" tell \
      at the end what that did beside: its own round trip, its rate, its errors and what was sent again. Exit status: 0 if \
      an answer came, 69 if none did.
      """)

  @OptionGroup var link: LinkOptions

  @Option(name: .short, help: ArgumentHelp("Stop after so many; without it, Ctrl-C does.", valueName: "count"))
  var count: Int?

  @Option(name: [.customShort("i"), .long], help: ArgumentHelp("Time between two.", valueName: "seconds"))
  var interval = Seconds(1)

  init() {}

  func validate() throws {
    if let count, count < 1 { throw ValidationError("-c is at least 1.") }
  }

  func run() async throws {
    let link = try link.link(in: CommandContext.transports)
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    let client = BywayClient(link, configuration: configuration)
    let pings = Task { [count, interval] in
      try await PingSeries(client: client, name: link.address.text, count: count, interval: interval.amount).run()
    }
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    let interrupt = Task { for await _ in signals { pings.cancel() } }
    defer { interrupt.cancel() }

    let statistics = try await pings.value
    for line in statistics.summary(of: link.address.text) { try StandardStream.output.write(line + "\n") }
    await client.shutDown()
    if statistics.received == 0 { throw CommandFailure(.unavailable, "No answer came over \(link.address).") }
  }
}
