package import BywayLineLayer
import HTTPTypes
public import Logging
public import NIOCore
import NIOPosix

/// Sends HTTP requests over a link, or to devices by their names.
///
/// A link opens with the first request, reopens after a loss, and carries any number of requests concurrently; requests wait while it is
/// down. A failed request is sent again only where that is safe: the remote end refused it unprocessed, or the method is idempotent (RFC
/// 9110 §9.2.2) and the body can be sent twice.
///
/// Safe on any thread. Call ``shutDown()`` when done.
public final class BywayClient: Sendable {
  /// The time limits and interceptors of a client. A value: a change has no effect on existing clients.
  public struct Configuration: Sendable {
    /// Called in this order; the link is the end of the chain.
    public var interceptors: [any Interceptor] = []
    /// The deadline of a request without its own: from sending to the response's head.
    public var timeout: Duration = .seconds(30)
    /// How long a request waits for a link that is down. Zero: the first failure is final.
    public var patience: Duration = .seconds(10)
    /// When a link counts as dead while requests run; `nil`: only when the transport reports it.
    public var liveness: Liveness? = .ofServer
    /// Silent by default, as usual for a library.
    public var logger = Logger(label: "byway.client", factory: { _ in SwiftLogNoOpLogHandler() })
    /// Notified of every exchange: for metrics, or a log. An interceptor's requests are separate exchanges. Exchanges on behalf of a server
    /// are reported to its observers instead.
    public var observers: [any ExchangeObserver] = []
    /// The event loop of the link; `nil`: a loop shared by the process.
    public var eventLoop: (any EventLoop)?

    /// 30 seconds for a request, 10 of them for a link that is down; liveness ``Liveness/ofServer``; no interceptors, no log, no observers.
    public static var defaults: Configuration { Configuration() }

    /// Creates the same as ``defaults``.
    public init() {}
  }

  private let configuration: Configuration
  private let links: any ClientLinks
  private let chain: Next

  /// - Parameter makeLinks: makes the links on an event loop, with the configuration's terms.
  package init(
    _ configuration: Configuration, _ makeLinks: (any EventLoop, OpenDevice.Terms) -> any ClientLinks
  ) {
    self.configuration = configuration
    let eventLoop = configuration.eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
    links = makeLinks(
      eventLoop,
      OpenDevice.Terms(
        hop: nil, patience: TimeAmount(configuration.patience), liveness: configuration.liveness,
        logger: configuration.logger))
    let exchanges = ExchangeClient(
      links.handler, on: LoopExecutor(eventLoop), observation: Observation(ofClient: configuration.observers))
    chain = Next(configuration.interceptors[...], to: exchanges)
  }

  /// Creates a client for a link, which is opened by the first request.
  public convenience init(_ link: Link, configuration: Configuration = .defaults) {
    self.init(configuration) { eventLoop, terms in OpenDevice([link], terms, among: nil, on: eventLoop) }
  }

  /// Creates a client for a link address.
  /// - Throws: ``BywayError`` if these transports cannot open the address.
  public convenience init(
    link: String, transports: [any Transport], configuration: Configuration = .defaults
  ) throws {
    try self.init(TransportRegistry(transports).link(link), configuration: configuration)
  }

  /// Sends a request and returns when the response's head has arrived; both bodies may still be streaming then.
  /// - Throws: ``BywayError``, or an interceptor's error.
  public func execute(_ request: Request) async throws -> Response {
    if let authority = request.head.authority { try Request.checkAuthority(authority) }
    var request = request
    if request.deadline == nil { request.deadline = .now() + TimeAmount(configuration.timeout) }
    return try await chain(request)
  }

  /// Sends a GET.
  public func get(_ url: String) async throws -> Response {
    try await execute(Request(url: url))
  }

  /// Measures a round trip over the default device's link with an HTTP/2 PING, which the remote end's HTTP/2 layer answers.
  /// - Throws: ``BywayError`` with code `invalidRequest` on a link with `http=1.1`, which has no ping.
  public func ping() async throws -> Duration {
    try await Duration(links.ping(nil))
  }

  /// Measures a round trip to a device.
  /// - Throws: ``BywayError``, with code `misdirected` if there is no such device.
  public func ping(_ device: DeviceName) async throws -> Duration {
    try await Duration(links.ping(device))
  }

  /// Returns the state of its links: the default device's first, those of patterns only while they are open.
  public func links() async -> [LinkReport] { await links.reports() }

  /// Returns the state of its links, at first and after each change; a line's counters change with each frame.
  /// - Parameter pause: the polling interval while the next element is awaited.
  public func linkChanges(lookingEvery pause: Duration = .seconds(1)) -> LinkChanges {
    LinkChanges(every: pause) { [links] in await links.reports() }
  }

  /// Returns the statistics of the line of the default device's link; `nil` if it has none, or is down.
  package func lineStatistics() async -> LineStatistics? {
    await links.lineStatistics()
  }

  /// Takes no more requests and closes the links when the running ones have ended. Returns when all are closed, after 3 seconds at the
  /// latest.
  public func shutDown() async {
    for interceptor in configuration.interceptors { await interceptor.shutDown() }
    await links.shutDown()
  }
}
