import Byway
import BywayLibC
import BywayPrimitives
import Logging
import NIOPosix

/// Lists ports whenever they may have changed.
///
/// Changes are reported by events if possible. In addition it checks every ten seconds for changes without events, such as
/// another program that has closed a port. Without events it checks every two seconds. Folders have no events, so it checks
/// them every second.
struct PortMonitor: Sendable {
  /// The place in which ports come and go.
  enum Place: Sendable, Hashable {
    /// Adapters and gadgets on USB. Built-in ports do not count.
    case usb
    case folder(String)
  }

  private enum Cause {
    case event, time
  }

  /// The time from an event to the look. An adapter causes several events, and is usable after the last one.
  static let settling = Duration.milliseconds(200)
  private static let reasonsInterval = Duration.seconds(10)

  let place: Place
  let query: String
  /// The links whose ports are configured.
  let configured: @Sendable () -> [LinkAddress]
  let logger: Logger

  func lists() -> AsyncStream<[LinkPort]> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let watch = Task { await self.run(continuation) }
      continuation.onTermination = { _ in watch.cancel() }
    }
  }

  private func run(_ lists: AsyncStream<[LinkPort]>.Continuation) async {
    // One look of each cause can wait.
    let (looks, bell) = AsyncStream.makeStream(of: Cause.self, bufferingPolicy: .bufferingOldest(2))
    let listener = events { bell.yield(.event) }
    let clock = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: interval(listener))
        bell.yield(.time)
      }
    }
    defer {
      clock.cancel()
      listener?.stop()
    }
    var (seen, told): ([LinkPort]?, [LinkPort]?)
    var lastFull = ContinuousClock.now
    bell.yield(.time)
    for await cause in looks {
      if cause == .event {
        // Further events during this time cause only one more look.
        do { try await Task.sleep(for: Self.settling) } catch { break }
      }
      let ports = await onThread { self.ports() }
      let now = ContinuousClock.now
      // A new port first belongs to root. When udev has given it to its group, an event comes for the same list.
      if cause == .event || ports != seen || now - lastFull >= Self.reasonsInterval {
        (seen, lastFull) = (ports, now)
        let list = await onThread { self.withReasons(ports) }
        if list != told { lists.yield(list) }
        told = list
      }
    }
    lists.finish()
  }

  private func events(_ changed: @escaping @Sendable () -> Void) -> UeventListener? {
    guard case .usb = place else { return nil }
    do throws(SystemError) {
      return try UeventListener(changed)
    } catch {
      logger.notice("Ports are looked for every 2 s, because events of devices cannot be had: \(error)")
      return nil
    }
  }

  private func interval(_ listener: UeventListener?) -> Duration {
    switch place {
    case .folder: .seconds(1)
    case .usb: listener?.isListening == true ? Self.reasonsInterval : .seconds(2)
    }
  }

  private func onThread(_ list: @escaping @Sendable () -> [LinkPort]) async -> [LinkPort] {
    (try? await NIOThreadPool.singleton.runIfActive(list)) ?? []
  }

  // MARK: Listing

  private func ports() -> [LinkPort] {
    let configured = configured().filter { $0.scheme == "serial" }.compactMap { try? SerialAddress($0).device }
    switch place {
    case .usb:
      let ports = PortList().all()
      return ports.filter { port in port.usb != nil && !configured.contains { $0.leads(to: port.path, of: port.usb) } }
        .map { LinkPort(address: $0.address(among: ports) + query, device: $0.path, name: $0.usb?.name) }
    case .folder(let folder):
      var devices: Set<String> = []
      return ((try? Folder.names(in: folder)) ?? []).sorted().compactMap { name in
        guard let port = port(name, in: folder), devices.insert(port.device).inserted else { return nil }
        lazy var adapter = ModemPort.adapter(of: port.device)
        return configured.contains { $0.leads(to: port.device, of: adapter) } ? nil : port
      }
    }
  }

  /// - Parameter name: the name for the link's address. A question mark in it would begin the options.
  private func port(_ name: String, in folder: String) -> LinkPort? {
    guard !name.hasPrefix("."), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") }),
      let device = try? SymbolicLink.resolved("\(folder)/\(name)"),
      (try? FileStatus(of: device))?.kind == .characterDevice
    else { return nil }
    return LinkPort(address: "serial:\(folder)/\(name)\(query)", device: device, name: name)
  }

  /// Adds the programs that use the ports. This takes longer, because it searches all processes.
  private func withReasons(_ ports: [LinkPort]) -> [LinkPort] {
    ports.map { port in
      var port = port
      port.unavailableReason = PortProblem.text(at: port.device, besides: getpid())
      return port
    }
  }
}

extension SerialAddress.Device {
  /// - Parameters:
  ///   - path: the path of a port, without symbolic links.
  ///   - adapter: the adapter of that port.
  fileprivate func leads(to path: String, of adapter: @autoclosure () -> USBAdapter?) -> Bool {
    switch self {
    case .path(let link): (try? SymbolicLink.resolved(link)) == path
    case .usb(let pattern): adapter().map { pattern.matches($0.identity) } ?? false
    }
  }
}
