import HTTPTypes
package import LineLayer
public import Logging
public import NIOCore
import NIOPosix

/// Sends HTTP requests over a link, or to devices by their names.
///
/// A link opens with the first request, opens again when it was lost, and carries any number of requests at once;
/// requests wait while it is down. What failed is sent again only where that is safe: the far end refused it unseen,
/// or the method is idempotent (RFC 9110 §9.2.2) and the body can be sent twice.
///
/// Safe on any thread. Call ``shutDown()`` when done.
public final class BywayClient: Sendable {
  /// How long a client waits, and what its requests pass. A value: a change has no effect on clients that were made before.
  public struct Configuration: Sendable {
    /// Asked in this order; the link is the last of the chain.
    public var interceptors: [any Interceptor] = []
    /// The deadline of a request that sets none: from sending to the response's head.
    public var timeout: TimeAmount = .seconds(30)
    /// How long a request waits for a link that is down. Zero: the first failure is final.
    public var patience: TimeAmount = .seconds(10)
    /// When a link counts as dead while requests run; `nil`: not before the transport says so.
    public var liveness: Liveness? = .ofServer
    /// Silent by default, as a library should be.
    public var logger = Logger(label: "byway.client", factory: { _ in SwiftLogNoOpLogHandler() })
    /// Told of every exchange: for metrics, or a log. An interceptor's requests are exchanges of their own. Those of a server
    /// that this client works for are told to its observers instead.
    public var observers: [any ExchangeObserver] = []
    /// Where the link lives; `nil`: a loop shared by the process.
    public var eventLoop: (any EventLoop)?

    /// 30 seconds for a request, 10 of them for a link that is down; liveness ``Liveness/ofServer``; no interceptors, no log, no observers.
    public static var defaults: Configuration { Configuration() }

    /// The same as ``defaults``.
    public init() {}
  }

  private let configuration: Configuration
  private let devices: DeviceTable
  private let chain: Next

  /// A client for devices, each of which is reached as `http://NAME.localhost`; a URL with another host means the default device.
  ///
  /// A device's links are opened by the first request for it.
  public init(_ devices: DeviceDirectory, configuration: Configuration = .defaults) {
    self.configuration = configuration
    let eventLoop = configuration.eventLoop ?? MultiThreadedEventLoopGroup.singleton.next()
    let terms = OpenDevice.Terms(
      hop: nil, patience: configuration.patience, liveness: configuration.liveness, logger: configuration.logger)
    self.devices = DeviceTable(devices, terms, on: eventLoop)
    let exchanges = ExchangeClient(
      DeviceRouter(self.devices), on: LoopExecutor(eventLoop),
      observation: Observation(ofClient: configuration.observers))
    chain = Next(configuration.interceptors[...], to: exchanges)
  }

  /// A client for a link, which is not opened before the first request.
  public convenience init(_ link: Link, configuration: Configuration = .defaults) {
    self.init(DeviceDirectory(main: link), configuration: configuration)
  }

  /// A client for a link address.
  /// - Throws: ``BywayError`` where the address names no link that these transports can open.
  public convenience init(
    link: String, transports: [any Transport], configuration: Configuration = .defaults
  ) throws {
    try self.init(TransportRegistry(transports).link(link), configuration: configuration)
  }

  /// Sends a request and returns when the response's head has arrived; both bodies may still be streaming then.
  /// - Throws: ``BywayError``, or what an interceptor threw.
  public func execute(_ request: Request) async throws -> Response {
    if let authority = request.head.authority { try Request.checkAuthority(authority) }
    var request = request
    if request.deadline == nil { request.deadline = .now() + configuration.timeout }
    return try await chain(request)
  }

  /// Sends a GET.
  public func get(_ url: String) async throws -> Response {
    try await execute(Request(url: url))
  }

  /// Measures a round trip over the default device's link with an HTTP/2 PING, which the far end's HTTP/2 answers by itself.
  /// - Throws: ``BywayError`` with code `invalidRequest` on a link with `http=1.1`, which has no ping.
  public func ping() async throws -> TimeAmount {
    try await devices.ping(nil)
  }

  /// Measures a round trip to a device.
  /// - Throws: ``BywayError``, with code `misdirected` where there is no such device.
  public func ping(_ device: DeviceName) async throws -> TimeAmount {
    try await devices.ping(device)
  }

  /// How its links are now: the default device's first, those of patterns as far as they are open.
  public func links() async -> [LinkReport] { await devices.linkReports() }

  /// The same, at first and whenever they have changed; a line's counters change with each frame.
  /// - Parameter pause: between two looks, while somebody waits for the next element.
  public func linkChanges(lookingEvery pause: Duration = .seconds(1)) -> LinkChanges {
    LinkChanges(every: pause) { [devices] in await devices.linkReports() }
  }

  /// What the line of the default device's link does; `nil` where it has none, or is down.
  package func lineStatistics() async -> LineStatistics? {
    await devices.entries().first { $0.name == nil }?.status.line
  }

  /// Takes no more requests and closes the links when the running ones have ended. Returns when it has closed, after 3
  /// seconds at the latest.
  public func shutDown() async {
    for interceptor in configuration.interceptors { await interceptor.shutDown() }
    await devices.shutDown()
  }
}
