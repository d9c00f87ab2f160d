package import Byway
import BywayHTTPWire
import BywayPrimitives
package import NIOCore

/// The devices of a ``DeviceDirectory`` that have been used. An unused device is only a name and addresses.
///
/// Devices with the same links are one device here, whatever their names. `@unchecked Sendable`: everything but the asynchronous functions
/// is for the event loop only.
package final class DeviceTable: @unchecked Sendable {
  /// The maximum number of open devices of patterns. Their names come from outside.
  private static let madeLimit = 32
  /// The time after which an unused device of a pattern is closed.
  private static let madeIdle = TimeAmount.minutes(5)

  private struct Found {
    let found: DiscoveredDevice
    let device: Device
    /// A new number whenever another device may be behind it.
    let incarnation: UInt64
  }

  struct Made {
    let device: OpenDevice
    var lastUse: NIODeadline
  }

  package let eventLoop: any EventLoop
  package private(set) var directory: DeviceDirectory
  private(set) var terms: OpenDevice.Terms
  let siblings: Siblings
  /// The open hubs, by the texts of their links.
  var hubs: [String: InboundHub] = [:]
  var dialed: DialedDevices
  private var opened: [[String]: OpenDevice] = [:]
  /// The devices of ``opened`` that were requested by name, and the one that was requested without.
  private var named: [DeviceName: OpenDevice] = [:]
  private var main: OpenDevice?
  private(set) var made: [DeviceName: Made] = [:]
  /// Failures of devices of patterns: any request may have a name that no device has.
  private let madeFailures = SharedSparseLog()
  /// The log lines of devices that dial.
  let dialedLines = SharedSparseLog(limit: DialedLogHandler.mostLines)
  /// The discovered devices, sorted by name, without those of the directory.
  private var discovered: [Found] = []
  private var sweep: Scheduled<Void>?
  private var isShutDown = false

  package init(_ directory: DeviceDirectory, _ terms: OpenDevice.Terms, on eventLoop: any EventLoop) {
    self.directory = directory
    self.terms = terms
    dialed = DialedDevices(limit: directory.mostDialed, perPeer: directory.mostDialedByPeer)
    siblings = Siblings(directory.siblings)
    self.eventLoop = eventLoop
  }

  // MARK: Look-up

  /// Returns the device of a request's authority, or the default one.
  /// - Throws: `BywayError` with code `misdirected` if there is no such device.
  package func device(for request: borrowing ExchangeHead) throws(BywayError) -> any Upstream {
    if directory.isUnnamed { return try mainDevice() }
    guard let authority = request.authority, let meaning = directory.hosts.meaning(of: authority) else {
      return try mainDevice()
    }
    switch meaning {
    case .device(let name): return try device(named: name, at: authority.port)
    case .frontPage: throw directory.unknown(DeviceHosts.frontPage, at: authority.port)
    case .notAName(let text): throw directory.unknown(text, at: authority.port)
    }
  }

  /// - Parameter port: the port of the request's authority, for the error.
  /// - Throws: `BywayError` with code `misdirected` if there is no such device.
  package func device(named name: DeviceName, at port: UInt16? = nil) throws(BywayError) -> any Upstream {
    if let device = named[name] { return device.upstream }
    if let device = directory[name] {
      let device = try open(device.links)
      named[name] = device
      return device.upstream
    }
    if let found = discovered.first(where: { $0.found.name == name }) {
      let device = try open(found.device.links)
      named[name] = device
      return device.upstream
    }
    if made[name] != nil {
      made[name]?.lastUse = eventLoop.now
      if let known = made[name] { return known.device.upstream }
    }
    if let device = dialed[name] { return device.upstream }
    if isShutDown { throw Self.wasShutDown }
    return try make(name, at: port).upstream
  }

  /// Whether a device has that name now. Opens none.
  package func has(_ name: DeviceName) -> Bool {
    directory.hasGiven(name) || dialed[name] != nil || discovered.contains { $0.found.name == name }
  }

  private static let wasShutDown = BywayError(.cancelled, "The client was shut down.", processing: .none)

  /// - Throws: `BywayError` with code `misdirected` if there is none.
  package func mainDevice() throws(BywayError) -> any Upstream {
    if let main { return main.upstream }
    if directory.main.isEmpty {
      throw BywayError(
        .misdirected, "The request does not say which device it is for: write NAME.localhost in the place of the host.",
        processing: .none)
    }
    let device = try open(directory.main)
    main = device
    return device.upstream
  }

  private func open(_ links: [Link]) throws(BywayError) -> OpenDevice {
    if isShutDown { throw Self.wasShutDown }
    if let device = opened[links.identity] { return device }
    let device = OpenDevice(links, terms, among: siblings, on: eventLoop)
    opened[links.identity] = device
    return device
  }

  // MARK: Patterns

  private func make(_ name: DeviceName, at port: UInt16?) throws(BywayError) -> OpenDevice {
    let found: Device?
    do { found = try directory.madeDevice(named: name) } catch {
      throw BywayError(
        .misdirected, "No device can be called \"\(name)\" here: its link would be invalid.", processing: .none,
        cause: error)
    }
    guard let found else { throw directory.unknown(name.text, at: port) }
    try makeRoom()
    let device = OpenDevice(found.links, terms, among: siblings, failures: madeFailures, on: eventLoop)
    made[name] = Made(device: device, lastUse: eventLoop.now)
    closeIdleLater()
    return device
  }

  /// Closes the device that has been unused for longest, if there are too many.
  private func makeRoom() throws(BywayError) {
    guard made.count >= Self.madeLimit else { return }
    let idle = made.filter { !$0.value.device.upstream.status.isInUse }
    guard let oldest = idle.min(by: { $0.value.lastUse < $1.value.lastUse })?.key else {
      throw BywayError(
        .refused, "\(Self.madeLimit) devices of patterns are in use, which is the maximum.",
        processing: .none)
    }
    made.removeValue(forKey: oldest)?.device.upstream.retire()
  }

  private func closeIdleLater() {
    guard sweep == nil, !made.isEmpty else { return }
    sweep = eventLoop.assumeIsolated().scheduleTask(in: Self.madeIdle) {
      self.sweep = nil
      let limit = self.eventLoop.now - Self.madeIdle
      for (name, entry) in self.made where entry.lastUse <= limit && !entry.device.upstream.status.isInUse {
        entry.device.upstream.retire()
        self.made[name] = nil
      }
      self.closeIdleLater()
    }
  }

  // MARK: Reload

  /// The resources of a new directory that are opened before it takes effect: devices whose gateways dial.
  package struct Preparation: Sendable {
    fileprivate var inbound: [[String]: OpenDevice] = [:]
    /// The new ones among them.
    fileprivate var fresh: [OpenDevice] = []
    /// Put files into effect that were read again.
    var renewals: [@Sendable () -> Void] = []
    /// The new hubs, by the texts of their links.
    var hubs: [String: InboundHub] = [:]
  }

  /// Listens where gateways of a directory dial, unless that is open already. Any thread.
  /// - Throws: `BywayError` if an address cannot be listened on; then nothing has changed.
  package func prepare(_ directory: DeviceDirectory, _ terms: OpenDevice.Terms) async throws -> Preparation {
    let known = try await eventLoop.submit { self.opened }.get()
    var preparation = Preparation()
    for links in [directory.main] + directory.devices.map(\.links) where links.first?.opening == .listen {
      guard preparation.inbound[links.identity] == nil else { continue }
      let device = known[links.identity] ?? OpenDevice(links, terms, among: siblings, on: eventLoop)
      do {
        if let renew = try await device.listen() { preparation.renewals.append(renew) }
      } catch {
        await cancel(preparation)
        if known[links.identity] == nil { await device.shutDown() }
        throw error
      }
      preparation.inbound[links.identity] = device
      if known[links.identity] == nil { preparation.fresh.append(device) }
    }
    do { try await prepareHubs(of: directory, terms, in: &preparation) } catch {
      await cancel(preparation)
      throw error
    }
    return preparation
  }

  /// Closes what was prepared. Any thread.
  package func cancel(_ preparation: Preparation) async {
    for device in preparation.fresh { await device.shutDown() }
    try? await eventLoop.submit { for hub in preparation.hubs.values { hub.shutDown() } }.get()
  }

  /// Switches to a directory. Devices whose links it also has stay open; the others finish their exchanges.
  package func replace(by directory: DeviceDirectory, _ terms: OpenDevice.Terms, _ preparation: Preparation) {
    for renew in preparation.renewals { renew() }
    self.directory = directory
    self.terms = terms
    siblings.hosts = directory.siblings
    named = [:]
    main = nil
    discovered.removeAll { directory.hasGiven($0.found.name) }
    retireUnnamed()
    for device in opened.values { device.upstream.patience = terms.patience }
    for (name, entry) in made {
      entry.device.upstream.patience = terms.patience
      if madeLinks(for: name)?.map(\.address) == entry.device.addresses { continue }
      made[name] = nil
      entry.device.upstream.retire()
    }
    for (identity, device) in preparation.inbound {
      opened[identity] = device
      device.upstream.open()
    }
    startHubs(of: preparation)
  }

  /// Switches to another list of discovered devices. Removed devices finish their exchanges.
  /// - Parameter found: the devices with their links.
  package func discover(_ found: [(DiscoveredDevice, Link)]) {
    let before = discovered
    discovered = found.compactMap { found, link in
      guard !directory.hasGiven(found.name),
        let device = try? Device(found.name, title: found.title?.text, links: [link])
      else { return nil }
      let known = before.first { $0.found.name == found.name && $0.found.link == found.link && $0.found.isThere }
      return Found(
        found: found, device: device, incarnation: found.isThere ? known?.incarnation ?? .random(in: .min ... .max) : 0)
    }
    named = [:]
    retireUnnamed()
  }

  /// Returns a client for the device with these links, if one is open already or waits for its line. On the event loop.
  package func openClient(over links: [Link]) -> ExchangeClient? {
    guard let upstream = opened[links.identity]?.upstream else { return nil }
    switch upstream.status.state {
    case .opening, .open, .interrupted: return ExchangeClient(upstream, on: LoopExecutor(eventLoop))
    case .idle, .closed, .down: return nil
    }
  }

  private func madeLinks(for name: DeviceName) -> [Link]? {
    guard directory[name] == nil else { return nil }
    return (try? directory.madeDevice(named: name))?.links
  }

  private func retireUnnamed() {
    let all = [directory.main] + directory.devices.map(\.links) + discovered.map(\.device.links)
    let kept = Set(all.map(\.identity))
    for (identity, device) in opened where !kept.contains(identity) {
      opened[identity] = nil
      device.upstream.retire()
    }
  }

  /// Returns when all devices and hubs have closed, or their time for that has passed. Any thread.
  package func shutDown() async {
    let ended = try? await eventLoop.submit {
      let devices = Array(self.opened.values) + self.made.values.map(\.device)
      let dialed = self.dialed.all.map { OwnedUpstream($0.upstream, on: self.eventLoop) }
      for device in self.dialed.all { device.retire() }
      let hubs = Array(self.hubs.values)
      for hub in hubs { hub.shutDown() }
      self.hubs = [:]
      self.dialed.removeAll()
      self.opened = [:]
      self.named = [:]
      self.main = nil
      self.made = [:]
      self.isShutDown = true
      self.sweep?.cancel()
      return (devices, dialed, hubs)
    }.get()
    guard let (devices, dialed, hubs) = ended else { return }
    await withTaskGroup(of: Void.self) { group in
      for device in devices { group.addTask { await device.shutDown() } }
      for device in dialed { group.addTask { await device.shutDown() } }
      for hub in hubs { group.addTask { await hub.waitUntilClosed() } }
    }
  }
}

// MARK: Lists

/// A device in lists.
package struct DeviceEntry: Sendable {
  /// `nil`: the default device.
  package let name: DeviceName?
  package var title: String?
  /// The addresses of its links, the best one first; as bound where the gateway dials.
  package let addresses: [LinkAddress]
  package let isInbound: Bool
  /// `.idle` if nothing has asked for it yet.
  package let status: UpstreamStatus
  /// `nil` if it is configured.
  package var discovery: DiscoveredDevice.State?
}

extension DeviceTable {
  /// Returns all configured and discovered devices, those that have dialed, and the open ones of patterns. Any thread.
  package func entries() async -> [DeviceEntry] {
    let entries = try? await eventLoop.submit {
      var entries: [DeviceEntry] = []
      if !self.directory.main.isEmpty { entries.append(self.entry(nil, nil, self.directory.main)) }
      for device in self.directory.devices { entries.append(self.entry(device.name, device.title, device.links)) }
      for found in self.discovered {
        var entry = self.entry(found.device.name, found.device.title, found.device.links)
        entry.discovery = found.found.state
        entries.append(entry)
      }
      for (name, device) in self.dialed.sorted {
        entries.append(
          DeviceEntry(
            name: name, title: device.title, addresses: [device.hub], isInbound: true,
            status: device.status))
      }
      for (name, entry) in self.made.sorted(by: { $0.key < $1.key }) {
        entries.append(
          DeviceEntry(
            name: name, title: nil, addresses: entry.device.addresses, isInbound: false,
            status: entry.device.upstream.status))
      }
      return entries
    }.get()
    return entries ?? []
  }

  /// Returns the destination of requests for that name. On the event loop.
  package func destination(of name: DeviceName) -> Destination {
    if let links = directory[name]?.links ?? madeLinks(for: name) {
      return .device(name, links: links.map(\.address.text), isClaimed: false)
    }
    if let found = discovered.first(where: { $0.found.name == name }) {
      return .device(name, links: [found.found.link, "\(found.incarnation)"], isClaimed: true)
    }
    let links = dialed[name].map { [$0.hub.text, "\($0.incarnation)"] }
    return .device(name, links: links ?? [""], isClaimed: true)
  }

  /// Returns the configured device whose name is the most similar to an unknown one. On the event loop.
  /// - Parameter isKnown: whether the client may know of a device.
  package func nearest(to name: DeviceName, where isKnown: (DeviceName) -> Bool) -> String? {
    Spelling.nearest(to: name.text, among: directory.devices.lazy.map(\.name).filter(isKnown).prefix(256).map(\.text))
  }

  /// Returns the domains below which names are devices. Any thread.
  package func suffixes() async -> [String] {
    (try? await eventLoop.submit { self.directory.hosts.suffixes }.get()) ?? []
  }

  /// - Parameter name: `nil`: the default device.
  package func ping(_ name: DeviceName?) async throws -> TimeAmount {
    try await eventLoop.flatSubmit {
      do throws(BywayError) {
        let device = if let name { try self.device(named: name) } else { try self.mainDevice() }
        return device.ping()
      } catch {
        return self.eventLoop.makeFailedFuture(error)
      }
    }.get()
  }

  private func entry(_ name: DeviceName?, _ title: String?, _ links: [Link]) -> DeviceEntry {
    let device = opened[links.identity]
    return DeviceEntry(
      name: name, title: title, addresses: device?.addresses ?? links.map(\.address),
      isInbound: links.first?.opening == .listen,
      status: device?.upstream.status ?? UpstreamStatus(.idle))
  }
}
