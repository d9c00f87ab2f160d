import Byway
import BywayTLS
import HTTPTypes
import NIOCore

/// One request and its response, streamed from the input to the output.
struct Transfer: Sendable {
  let link: Link
  let request: Request
  /// For https.
  let tunnel: Tunnel?
  let output: String?
  let showsHead: Bool
  let failsOnStatus: Bool
  let isVerbose: Bool

  func run() async throws {
    let output = try OutputFile(output)
    let progress = progress
    let client = client()
    if isVerbose { show(HeadText.lines(of: request.head, link.framing), mark: ">") }

    let response = try await client.execute(observed(progress))
    progress?.clear()
    if isVerbose { show(HeadText.lines(of: response.head, link.framing), mark: "<") }
    if showsHead { try output.write(ByteBuffer(string: HeadText.block(of: response.head, link.framing))) }
    try await judge(response, output)

    progress?.begin(total: response.body.length)
    for try await chunk in response.body {
      try output.write(chunk)
      progress?.add(chunk.readableBytes)
    }
    progress?.clear()
    if isVerbose, let trailers = await response.body.trailers() {
      show(trailers.map { "\($0.name.canonicalName): \($0.value)" }, mark: "<")
    }
    try output.finish()
    await client.shutDown()
  }

  private func client() -> BywayClient {
    var configuration = BywayClient.Configuration.defaults
    // The user waits in front of it: a link that cannot be opened is told at once, and --max-time says when to give up.
    configuration.patience = .zero
    configuration.timeout = .hours(24)
    if let tunnel { configuration.interceptors = [tunnel] }
    return BywayClient(link, configuration: configuration)
  }

  /// Only where somebody watches, and the body itself does not go to the same screen.
  private var progress: ProgressLine? {
    let isShown = output.map { $0 != "-" } ?? false || !StandardStream.output.isTerminal
    return StandardStream.error.isTerminal && isShown ? ProgressLine(on: .error) : nil
  }

  private func observed(_ progress: ProgressLine?) -> Request {
    var request = request
    if isVerbose {
      let framing = link.framing
      request.onInformational = { show(HeadText.lines(of: $0, framing), mark: "<") }
    }
    if let progress, request.body.length != 0 {
      progress.begin(total: request.body.length)
      request.body = progress.measuring(request.body)
    }
    return request
  }

  /// - Throws: where the response is not what was asked for.
  private func judge(_ response: Response, _ output: OutputFile) async throws {
    if let message = HopFailure.message(in: response.head) {
      // The document that says so is worth showing to those who asked for all there is.
      if showsHead { for try await chunk in response.body { try output.write(chunk) } }
      throw CommandFailure(.unavailable, message)
    }
    if failsOnStatus, response.status.code >= 400 {
      throw CommandFailure(.httpFailure, "The server answered \(HeadText.text(of: response.status)).")
    }
  }

  private func show(_ lines: [String], mark: String) {
    StandardStream.error.writeText(lines.map { "\(mark) \($0)\n" }.joined() + "\(mark)\n")
  }
}
