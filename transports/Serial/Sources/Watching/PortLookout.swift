import Byway
import Glibc
import Logging
import NIOPosix
import Primitives

/// Lists ports whenever others may be there.
///
/// Where events come, they say when, and a look every ten seconds finds what none comes for: that another program has let go of
/// a port. Where none come it looks every two seconds; into a folder every second, as nobody tells of folders.
struct PortLookout: Sendable {
  /// Where ports come and go.
  enum Place: Sendable, Hashable {
    /// Adapters and gadgets on USB. What is soldered in does not come.
    case usb
    case folder(String)
  }

  /// An adapter comes with several events, and the last one makes it usable.
  static let settling = Duration.milliseconds(200)
  private static let obstaclesInterval = Duration.seconds(10)

  let place: Place
  let query: String
  /// Links that have their ports by configuration.
  let configured: @Sendable () -> [LinkAddress]
  let logger: Logger

  func lists() -> AsyncStream<[LinkPort]> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let watch = Task { await self.run(continuation) }
      continuation.onTermination = { _ in watch.cancel() }
    }
  }

  private func run(_ lists: AsyncStream<[LinkPort]>.Continuation) async {
    let (looks, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let listener = events { bell.yield() }
    let clock = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: interval(listener))
        bell.yield()
      }
    }
    defer {
      clock.cancel()
      listener?.stop()
    }
    var (seen, told): ([LinkPort]?, [LinkPort]?)
    var lastFull = ContinuousClock.now
    bell.yield()
    for await _ in looks {
      let ports = await onThread { self.ports() }
      let now = ContinuousClock.now
      if ports != seen || now - lastFull >= Self.obstaclesInterval {
        (seen, lastFull) = (ports, now)
        let list = await onThread { self.withObstacles(ports) }
        if list != told { lists.yield(list) }
        told = list
      }
      // What happens meanwhile is one more reason to look, not ten.
      do { try await Task.sleep(for: Self.settling) } catch { break }
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
    case .usb: listener?.isListening == true ? Self.obstaclesInterval : .seconds(2)
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
        lazy var usb = ModemPort.usbIdentity(of: port.device)
        return configured.contains { $0.leads(to: port.device, of: usb) } ? nil : port
      }
    }
  }

  /// - Parameter name: it becomes part of a link's address, in which a question mark would begin the options.
  private func port(_ name: String, in folder: String) -> LinkPort? {
    guard !name.hasPrefix("."), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") }),
      let device = try? SymbolicLink.resolved("\(folder)/\(name)"),
      (try? FileStatus(of: device))?.kind == .characterDevice
    else { return nil }
    return LinkPort(address: "serial:\(folder)/\(name)\(query)", device: device, name: name)
  }

  /// Takes longer: whoever has a port open is searched for.
  private func withObstacles(_ ports: [LinkPort]) -> [LinkPort] {
    ports.map { port in
      var port = port
      port.obstacle = PortObstacle.text(at: port.device, besides: getpid())
      return port
    }
  }
}

extension SerialAddress.Device {
  /// - Parameters:
  ///   - path: of a port, without symbolic links.
  ///   - usb: what its adapter says of itself.
  fileprivate func leads(to path: String, of usb: @autoclosure () -> USBIdentity?) -> Bool {
    switch self {
    case .path(let link): (try? SymbolicLink.resolved(link)) == path
    case .usb(let pattern): usb().map(pattern.matches) ?? false
    }
  }
}
