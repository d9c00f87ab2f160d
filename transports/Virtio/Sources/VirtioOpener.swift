import Byway
import BywayLibC
import BywayPrimitives
import Logging
import NIOCore
import NIOPosix

/// Opens one end of a port as a channel.
struct VirtioOpener: Sendable {
  let place: VirtioPlace
  let ports: VirtioPortList
  let group: any EventLoopGroup
  let logger: Logger

  /// - Parameter queue: the queue that receives the channel when it is active.
  /// - Throws: ``VirtioFailure``.
  func open(to queue: ChannelQueue? = nil) async throws -> any Channel {
    switch place {
    case .port(let name): return try await openPort(ports.path(of: name), to: queue)
    case .path(let path):
      if let flaw = ports.flaw(of: path) { throw flaw }
      let kind = try? FileStatus(of: path).kind
      return kind == .characterDevice ? try await openPort(path, to: queue) : try await openSocket(path, to: queue)
    }
  }

  private func openPort(_ path: String, to queue: ChannelQueue?) async throws -> any Channel {
    let descriptor: CInt
    do {
      descriptor = try Descriptor.open(path, O_RDWR | O_NONBLOCK | O_NOCTTY)
    } catch {
      throw VirtioFailure(openingPort: path, error)
    }
    // The driver reports a hang-up for as long as no program has the host's end open (poll(2)).
    var state = pollfd(fd: descriptor, events: 0, revents: 0)
    guard poll(&state, 1, 0) == 0 else {
      close(descriptor)
      throw VirtioFailure.hostAway(path)
    }
    do {
      return try await LineMedium(descriptor, .bytes, name: path).open(on: group, to: queue, logger: logger)
    } catch {
      throw VirtioFailure.unusable(path, "no channel can be made of it (\(error))")
    }
  }

  /// Connects to the host's end. QEMU serves one program at a time, and the kernel keeps the next one waiting. Connecting to a Unix socket
  /// needs no time limit: without a place in the queue, it fails at once.
  private func openSocket(_ path: String, to queue: ChannelQueue?) async throws -> any Channel {
    do {
      return try await ClientBootstrap(group: group)
        .channelInitializer { $0.prepareForHandover(to: queue) }
        .connect(unixDomainSocketPath: path).get()
    } catch {
      throw VirtioFailure(connectingTo: path, error)
    }
  }
}
