import Byway
import BywayLibC
import BywayPrimitives
import Logging
import NIOCore
import Synchronization

/// Accepts connections on a channel, on a thread of its own. One device at a time has the link.
final class RFCOMMListener: Sendable {
  private enum Phase {
    /// The controller of the address is missing.
    case waiting
    case listening(CInt)
  }

  /// The device that has the link, with the number of its connection.
  private struct ConnectedDevice {
    let device: BluetoothAddress
    let number: Int
  }

  private struct State {
    var occupant: ConnectedDevice?
    var connections = 0
    var refusals = SparseLog()
    /// Why the channel of a controller that came later cannot be used.
    var failure: String?
    var isStopping = false
  }

  /// The time between two attempts to find the controller.
  private static let interval: CInt = 250
  /// The pause after a failure to accept, for example for want of descriptors.
  private static let pause: CInt = 1000

  let queue = ChannelQueue()
  private let place: RFCOMMPlace
  private let system: any BluetoothSystem
  private let eventLoop: any EventLoop
  private let logger: Logger
  private let wakeup: Wakeup
  private let ended: EventLoopPromise<Void>
  private let state = Mutex(State())

  private init(_ place: RFCOMMPlace, _ system: any BluetoothSystem, _ context: LinkContext) throws(SystemError) {
    self.place = place
    self.system = system
    eventLoop = context.group.next()
    logger = context.logger
    wakeup = try Wakeup()
    ended = eventLoop.makePromise()
  }

  /// - Throws: ``RFCOMMFailure`` if waiting would not help.
  static func start(
    _ place: RFCOMMPlace, _ system: any BluetoothSystem, _ context: LinkContext
  ) throws -> any Listener {
    let listener: RFCOMMListener
    do throws(SystemError) {
      try system.check()
      listener = try RFCOMMListener(place, system, context)
    } catch {
      throw RFCOMMFailure(listeningOn: place, error)
    }
    try listener.start()
    return QueueListener(
      address: place.address, queue: listener.queue, unavailableReason: { listener.unavailableReason }
    ) {
      await listener.stop()
    }
  }

  private func start() throws {
    var phase = Phase.waiting
    do {
      phase = .listening(try open())
      if let absence { announce(absence) }
    } catch let failure as RFCOMMFailure where failure.isAbsence {
      announce(failure)
    } catch {
      ended.succeed()
      throw error
    }
    do {
      try system.startThread { [phase] in self.run(phase) }
    } catch {
      if case .listening(let descriptor) = phase { close(descriptor) }
      ended.succeed()
      throw RFCOMMFailure(listeningOn: place, error)
    }
  }

  /// Stops accepting. Accepted channels stay open.
  private func stop() async {
    state.withLock { $0.isStopping = true }
    wakeup.wake()
    try? await ended.futureResult.get()
  }

  private func announce(_ absence: RFCOMMFailure) {
    logger.notice("Waiting for Bluetooth. \(absence.message)")
  }

  private var unavailableReason: String? { absence?.message ?? state.withLock(\.failure) }

  /// Why no device can connect now; `nil` if one can.
  private var absence: RFCOMMFailure? {
    // A system may hide its controllers from this program, and let it use them.
    guard let controllers = try? system.controllers() else { return nil }
    if let absence = RFCOMMFailure.absence(of: place.controller, among: controllers) { return absence }
    let usable = controllers.filter { $0.isUp && $0.matches(place.controller) }
    return usable.contains(where: \.isConnectable) ? nil : usable.first.map { .isHidden($0.name) }
  }

  /// - Throws: ``RFCOMMFailure``.
  private func open() throws -> CInt {
    var local = BluetoothAddress.any
    if let controller = place.controller {
      // A listener on an address outlives its controller, so the controller may be off.
      let controllers = try controllers()
      guard let match = controllers.first(where: { $0.matches(controller) }) else {
        throw RFCOMMFailure.noController(controller, controllers)
      }
      local = match.address
    }
    do throws(SystemError) {
      return try system.listen(on: place.channel, of: local, security: place.security)
    } catch {
      throw RFCOMMFailure(listeningOn: place, error)
    }
  }

  private func controllers() throws -> [BluetoothController] {
    do throws(SystemError) {
      return try system.controllers()
    } catch {
      throw RFCOMMFailure(listeningOn: place, error)
    }
  }

  // MARK: The thread

  private func run(_ first: Phase) {
    var phase = first
    while !state.withLock(\.isStopping) {
      switch phase {
      case .waiting:
        wait(for: nil, atMost: Self.interval)
        if let descriptor = reopen() { phase = .listening(descriptor) }
      case .listening(let descriptor):
        guard wait(for: descriptor, atMost: -1) else { continue }
        do throws(SystemError) {
          let (connection, device) = try system.accept(on: descriptor)
          take(connection, of: device)
        } catch {
          guard error.code != EAGAIN, error.code != EINTR else { continue }
          logger.debug("No connection accepted", metadata: ["link": "\(place.address)", "reason": "\(error)"])
          wait(for: nil, atMost: Self.pause)
        }
      }
    }
    if case .listening(let descriptor) = phase { close(descriptor) }
    ended.succeed()
  }

  /// Tries to listen. Reports each new reason once.
  private func reopen() -> CInt? {
    do {
      let descriptor = try open()
      state.withLock { $0.failure = nil }
      logger.notice("The Bluetooth controller is there", metadata: ["link": "\(place.address)"])
      return descriptor
    } catch {
      let failure = error as? RFCOMMFailure
      let reason = failure?.isAbsence == true ? nil : failure?.message ?? "\(error)"
      let isNew = state.withLock { state in
        defer { state.failure = reason }
        return reason != state.failure
      }
      if isNew, let reason { logger.warning("Waiting for Bluetooth. \(reason)") }
      return nil
    }
  }

  /// - Returns: whether the descriptor has a connection, or an error.
  @discardableResult
  private func wait(for descriptor: CInt?, atMost milliseconds: CInt) -> Bool {
    var ready = [
      pollfd(fd: wakeup.reading, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    return poll(&ready, 2, milliseconds) > 0 && ready[1].revents != 0
  }

  private func take(_ connection: CInt, of device: BluetoothAddress) {
    let (number, refusal) = state.withLock { state -> (Int?, Int?) in
      // The same device connects again before the loss of its connection was noticed.
      if let occupant = state.occupant, occupant.device != device { return (nil, state.refusals.admit(at: .now())) }
      state.connections += 1
      state.occupant = ConnectedDevice(device: device, number: state.connections)
      return (state.connections, nil)
    }
    guard let number else {
      close(connection)
      if let refusal {
        logger.warning(
          "A device was refused, because another one has the link",
          metadata: ["link": "\(place.address)", "device": "\(device)", "times": "\(refusal + 1)"])
      }
      return
    }
    logger.debug("A device has connected", metadata: ["link": "\(place.address)", "device": "\(device)"])
    var medium = LineMedium(connection, .bytes, name: "\(device)")
    medium.peer = "\(device)"
    Task {
      do {
        let channel = try await medium.open(on: eventLoop, to: queue, logger: logger)
        try? await channel.closeFuture.get()
      } catch {
        logger.debug("No channel of a connection", metadata: ["link": "\(place.address)", "reason": "\(error)"])
      }
      state.withLock { if $0.occupant?.number == number { $0.occupant = nil } }
    }
  }
}
