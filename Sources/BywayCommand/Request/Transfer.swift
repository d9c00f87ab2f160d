import Byway
import BywayDoctor
import BywayPrimitives
import BywayTerminal
import HTTPTypes
import NIOCore

/// A request and its response, streamed from the input to the output.
struct Transfer: Sendable {
  /// The choice of what the user sees of it.
  struct Look: Sendable {
    let showsHead, failsOnStatus, isVerbose, isSilent: Bool
  }

  private(set) var link: Link
  let request: Request
  /// The interceptors in order from the user to the link.
  let interceptors: [any Interceptor]
  /// `nil` or `-` for standard output.
  let file: String?
  /// Whether to continue a file that is incomplete.
  let resumes: Bool
  let look: Look
  private(set) var isProxied = false

  /// Sends the request over the link, or through the proxy of this machine that uses the link's port.
  func run(in transports: TransportRegistry) async throws {
    do {
      try await run()
    } catch let error as BywayError {
      // A body that can be read once may have been read in part.
      guard let taken = error.cause as? PortTaken, request.body.isReplayable,
        let (proxy, _) = await LinkProxy.find(of: taken.processID, in: transports)
      else { throw error }
      await proxy.shutDown()
      if !look.isSilent {
        StandardStream.error.writeLine(
          "byway: The proxy at \(proxy.address) uses \(link.address): the request goes through it.")
      }
      var transfer = self
      transfer.link = try transports.link(proxy.address)
      transfer.isProxied = true
      try await transfer.run()
    }
  }

  private func run() async throws {
    let client = client()
    if resumes, let file {
      try await resume(file, with: client)
    } else {
      try await run(with: client)
    }
    await client.shutDown()
  }

  private func run(with client: BywayClient) async throws {
    let output = try OutputFile(file)
    let progress = progress
    if look.isVerbose { show(HeadText.lines(of: request.head, link.framing), mark: ">") }

    let response = try await client.execute(observed(progress))
    progress?.clear()
    if look.isVerbose { show(HeadText.lines(of: response.head, link.framing), mark: "<") }
    if look.showsHead { try output.write(headBlock(of: response)) }
    try await judge(response, output)

    progress?.begin(total: response.body.length)
    for try await chunk in response.body {
      let isFirst = !output.isPartial
      try output.write(chunk)
      progress?.add(chunk.readableBytes)
      // A later -C - needs the tag, however this transfer ends. It cannot use a file that begins with a head.
      if isFirst, output.isPartial, let file { PartialDownload.leaveTag(of: response, to: request, nextTo: file) }
    }
    progress?.clear()
    if look.isVerbose, let trailers = await response.body.trailers() {
      show(trailers.map { "\($0.name.canonicalName): \($0.value)" }, mark: "<")
    }
    try output.finish()
  }

  private func resume(_ file: String, with client: BywayClient) async throws {
    guard request.head.method == .get, request.body.isKnownEmpty, !look.showsHead else {
      throw CommandFailure(.usage, "-C - continues what a GET has begun: leave out -i, -I, -X, and the body.")
    }
    let progress = progress
    if look.isVerbose { show(HeadText.lines(of: request.head, link.framing), mark: ">") }
    do {
      try await client.download(request, to: file) { progress?.show(received: $0.received, total: $0.total) }
      progress?.clear()
    } catch {
      progress?.clear()
      throw error
    }
  }

  /// Returns the head as it arrived, except for a terminal.
  private func headBlock(of response: Response) -> ByteBuffer {
    let isShown = file.map { $0 == "-" } ?? true && StandardStream.output.isTerminal
    let lines = HeadText.lines(of: response.head, link.framing).map { isShown ? $0.visible : $0 }
    return ByteBuffer(string: lines.map { $0 + "\r\n" }.joined() + "\r\n")
  }

  private func client() -> BywayClient {
    var configuration = BywayClient.Configuration.defaults
    // The user is waiting: if a link cannot be opened, that is reported at once, and --max-time limits the rest. A download with -C
    // - waits for a gateway that restarts.
    configuration.patience = resumes ? .seconds(5) : .zero
    configuration.timeout = .seconds(24 * 3600)
    configuration.interceptors = (resumes ? [HopFailures()] : []) + interceptors
    if isProxied { configuration.interceptors.append(ProxiedHost(isSilent: look.isSilent)) }
    return BywayClient(link, configuration: configuration)
  }

  /// A progress line if a user can see it, and the body does not go to the same screen.
  private var progress: ProgressLine? {
    let isShown = file.map { $0 != "-" } ?? false || !StandardStream.output.isTerminal
    return StandardStream.error.isTerminal && isShown && !look.isSilent ? ProgressLine(on: .error) : nil
  }

  private func observed(_ progress: ProgressLine?) -> Request {
    var request = request
    if look.isVerbose {
      let framing = link.framing
      request.onInformational = { show(HeadText.lines(of: $0, framing), mark: "<") }
    }
    if let progress, request.body.length != 0 {
      progress.begin(total: request.body.length)
      request.body = progress.measuring(request.body)
    }
    return request
  }

  /// - Throws: If the response is a failure.
  private func judge(_ response: Response, _ output: OutputFile) async throws {
    if let message = HopFailure.message(in: response.head) {
      // With -i, the document about the failure is shown as well.
      if look.showsHead { for try await chunk in response.body { try output.write(chunk) } }
      throw CommandFailure(.unavailable, message)
    }
    if look.failsOnStatus, response.status.code >= 400 {
      throw CommandFailure(.httpFailure, "The server answered \(HeadText.text(of: response.status)).")
    }
  }

  private func show(_ lines: [String], mark: String) {
    StandardStream.error.writeText(lines.map { "\(mark) \($0.visible)\n" }.joined() + "\(mark)\n")
  }
}
