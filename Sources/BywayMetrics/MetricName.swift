/// A metric of this package, with its name for backends and its meaning. docs/observability.md lists all of them.
package struct MetricName: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case counter, gauge
    /// A histogram of times, or of sizes.
    case timer, sizes
  }

  package enum Unit: Sendable, Hashable {
    case none, bytes, seconds, bytesPerSecond
  }

  /// `http.server.request.duration`
  package let label: String
  package let kind: Kind
  package let unit: Unit
  /// The help text, one sentence.
  package let meaning: String
  /// The names of its attributes.
  package let attributes: [String]

  private init(_ label: String, _ kind: Kind, _ unit: Unit = .none, _ attributes: [String] = [], _ meaning: String) {
    self.label = label
    self.kind = kind
    self.unit = unit
    self.attributes = attributes
    self.meaning = meaning
  }
}

extension MetricName {
  private static let server = [
    "http.request.method", "url.scheme", "network.protocol.version", "http.response.status_code", "error.type",
    "device",
    "section",
  ]
  private static let client = [
    "http.request.method", "server.address", "http.response.status_code", "error.type", "device", "section",
  ]
  private static let link = ["link"]

  // MARK: Exchanges, by the semantic conventions of OpenTelemetry

  package static let serverDuration = MetricName(
    "http.server.request.duration", .timer, .seconds, server,
    "How long exchanges took, from the request's head to the end of the response.")
  package static let serverActive = MetricName(
    "http.server.active_requests", .gauge, .none, ["http.request.method", "url.scheme", "section"],
    "Exchanges that have begun and not ended.")
  package static let serverRequestSize = MetricName(
    "http.server.request.body.size", .sizes, .bytes, server, "Bytes of the requests' bodies.")
  package static let serverResponseSize = MetricName(
    "http.server.response.body.size", .sizes, .bytes, server, "Bytes of the responses' bodies.")
  package static let clientDuration = MetricName(
    "http.client.request.duration", .timer, .seconds, client,
    "How long origins and links took, from sending the request to the end of the response.")
  package static let clientActive = MetricName(
    "http.client.active_requests", .gauge, .none, ["http.request.method", "server.address", "section"],
    "Exchanges that are running at an origin or over a link.")

  package static let clientConnections = MetricName(
    "http.client.open_connections", .gauge, .none, ["http.connection.state", "server.address"],
    "Connections to origins, and links, that are open: active with an exchange on them, or idle.")

  // MARK: Metrics without an OpenTelemetry name

  package static let requestBytes = MetricName(
    "byway.http.request.body", .counter, .bytes, ["section"], "Bytes of requests' bodies, counted as they arrive.")
  package static let responseBytes = MetricName(
    "byway.http.response.body", .counter, .bytes, ["section"], "Bytes of responses' bodies, counted as they arrive.")
  package static let waiting = MetricName(
    "byway.http.request.waiting", .timer, .seconds, ["server.address", "section"],
    "How long requests waited for a link or a connection before they were sent.")
  package static let resends = MetricName(
    "byway.http.request.resends", .counter, .none, ["server.address", "section"],
    "Requests that were sent again, after a connection was lost.")

  // MARK: Links and lines

  package static let linkUp = MetricName(
    "byway.link.up", .gauge, .none, link, "1 while the link is open and not interrupted, else 0.")
  package static let linkOpenings = MetricName(
    "byway.link.openings", .counter, .none, link, "How often this end has opened the link, or opened it again.")
  package static let linkLosses = MetricName(
    "byway.link.losses", .counter, .none, link, "How often the link was lost after it had been opened.")
  package static let linkFailures = MetricName(
    "byway.link.failures", .counter, .none, link, "Failed attempts to open the link.")
  package static let lineRoundTrip = MetricName(
    "byway.link.line.round_trip", .gauge, .seconds, link, "Round trip over the line, without the time on the wire.")
  package static let lineRate = MetricName(
    "byway.link.line.rate", .gauge, .bytesPerSecond, link, "Estimated rate of the line per second.")
  package static let lineSentBytes = MetricName(
    "byway.link.line.sent", .counter, .bytes, link, "Bytes sent on the line, framing included.")
  package static let lineReceivedBytes = MetricName(
    "byway.link.line.received", .counter, .bytes, link, "Bytes received from the line, foreign ones included.")
  package static let lineSentFrames = MetricName(
    "byway.link.line.sent.frames", .counter, .none, link, "Frames sent on the line.")
  package static let lineReceivedFrames = MetricName(
    "byway.link.line.received.frames", .counter, .none, link, "Intact frames received from the line.")
  package static let lineRepeatedFrames = MetricName(
    "byway.link.line.repeated.frames", .counter, .none, link, "Frames that had to be sent again.")
  package static let lineDamagedFrames = MetricName(
    "byway.link.line.damaged.frames", .counter, .none, link,
    "Runs of bytes that were not an intact frame: damaged, of another session, or foreign to the line.")
  package static let lineRefusedFrames = MetricName(
    "byway.link.line.refused.frames", .counter, .none, link, "Intact frames that broke the line's protocol.")

  package static let lineForeignBytes = MetricName(
    "byway.link.line.received.foreign", .counter, .bytes, link,
    "Received bytes that were not of an intact frame: damaged, of another session, or foreign to the line.")
  package static let lineCorrectedBytes = MetricName(
    "byway.link.line.received.corrected", .counter, .bytes, link, "Received bytes that were wrong and were corrected.")
  package static let lineResumes = MetricName(
    "byway.link.line.resumes", .counter, .none, link,
    "How often a session was resumed after its line had been lost.")

  // MARK: Plugins

  private static let plugin = ["plugin"]

  package static let pluginUp = MetricName(
    "byway.plugin.up", .gauge, .none, plugin, "1 while the plugin runs or has answered, else 0.")
  package static let pluginActive = MetricName(
    "byway.plugin.active_requests", .gauge, .none, plugin, "Requests at the plugin that have not ended.")
  package static let pluginRequests = MetricName(
    "byway.plugin.requests", .counter, .none, plugin, "Requests in the plugin's scope.")
  package static let pluginFailures = MetricName(
    "byway.plugin.failures", .counter, .none, ["plugin", "error.type"], "Requests whose plugin failed.")
  package static let pluginRestarts = MetricName(
    "byway.plugin.restarts", .counter, .none, plugin, "How often the plugin's program was started again.")
  package static let pluginTime = MetricName(
    "byway.plugin.time", .counter, .seconds, plugin,
    "Time that the plugin itself took until the heads of its responses.")

  // MARK: The process

  package static let residentMemory = MetricName(
    "process.resident_memory", .gauge, .bytes, [], "Memory of the process that is in RAM.")
  package static let heldMemory = MetricName(
    "byway.held", .gauge, .bytes, [], "Memory that is held for clients and their targets.")
  package static let heldMemoryLimit = MetricName(
    "byway.held.limit", .gauge, .bytes, [], "The limit of that memory.")
  package static let heldMemoryRefusals = MetricName(
    "byway.held.refusals", .counter, .none, [], "Exchanges that were dropped because of that limit.")
  package static let openDescriptors = MetricName(
    "process.open_fds", .gauge, .none, [], "Open file descriptors.")
  package static let startTime = MetricName(
    "process.start_time", .gauge, .seconds, [], "When the process started, since the beginning of 1970.")
  package static let processorTime = MetricName(
    "process.cpu", .counter, .seconds, [], "Time on a processor, in the kernel and out of it.")
  package static let build = MetricName(
    "byway.build.info", .gauge, .none, ["version"], "Always 1; the label says which release runs.")
  package static let lostLines = MetricName(
    "byway.access_log.lost_lines", .counter, .none, [], "Lines that the access log could not keep up with or write.")

  package static let all = [
    serverDuration, serverActive, serverRequestSize, serverResponseSize, clientDuration, clientActive,
    clientConnections, requestBytes,
    responseBytes, waiting, resends, linkUp, linkOpenings, linkLosses, linkFailures, lineRoundTrip, lineRate,
    lineSentBytes, lineReceivedBytes, lineSentFrames,
    lineReceivedFrames, lineRepeatedFrames, lineDamagedFrames, lineRefusedFrames, lineForeignBytes, lineCorrectedBytes,
    lineResumes, pluginUp, pluginActive, pluginRequests, pluginFailures, pluginRestarts, pluginTime,
    residentMemory, heldMemory, heldMemoryLimit, heldMemoryRefusals, openDescriptors,
    startTime, processorTime, build, lostLines,
  ]

  /// The upper bounds of a histogram's buckets.
  package var buckets: [Double] {
    switch kind {
    case .counter, .gauge: []
    // OpenTelemetry's advice for http.server.request.duration.
    case .timer: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    case .sizes: [0, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576, 16_777_216, 268_435_456]
    }
  }
}
