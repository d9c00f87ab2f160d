import ArgumentParser
import Byway
import BywayDaemonProcess
import BywayGatewayProgram
import BywayTerminal
import NIOCore

/// `byway ping`
struct PingCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ping",
    abstract: "Measures round trips over a link.",
    discussion: """
      Any HTTP/2 server at the far end answers; it need not be a gateway. Over a serial line, lines that begin with "line:" \
      report on the line itself at the end: its round trip, its rate, its errors and what was sent again. If a byway proxy \
      is using the line, the pings go through that proxy. Exit status: 0 if an answer came, 69 if none did.
      """)

  @OptionGroup var link: LinkOptions

  @Option(
    name: .customShort("c", allowingJoined: true),
    help: .value("count", "Stop after this many; without it, Ctrl-C stops."))
  var count: Int?

  @Option(
    name: [.customShort("i", allowingJoined: true), .long],
    help: .value("seconds", "Time between two pings."))
  var interval = Seconds(1)

  func validate() throws {
    if let count, count < 1 { throw ValidationError("-c must be at least 1.") }
  }

  func run() async throws {
    let link = try link.link(in: CommandContext.transports)
    let pinger = LinkPinger(link, in: CommandContext.transports)
    let pings = Task { [count, interval] in
      try await PingSeries(pinger: pinger, name: link.address.text, count: count, interval: interval.amount).run()
    }
    let signals = await Signal.arrivals(of: [.interrupt, .terminate])
    let interrupt = Task { for await _ in signals { pings.cancel() } }
    defer { interrupt.cancel() }

    let statistics = try await DoctorAdvice.ifFails(link) { try await pings.value }
    for line in statistics.summary(of: link.address.text) { try StandardStream.output.write(line + "\n") }
    await pinger.shutDown()
    if statistics.received == 0 {
      throw CommandFailure(
        .unavailable, "No answer came over \(link.address). To find out why: \(DoctorAdvice.command(for: link))")
    }
  }
}
