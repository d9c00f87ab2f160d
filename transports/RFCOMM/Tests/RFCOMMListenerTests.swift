import Byway
import BywayPrimitives
import Glibc
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import RFCOMMTransport

/// Tests what a listener accepts, and what it says while it cannot.
@Suite struct RFCOMMListenerTests {
  private static let device = "00:AA:00:00:00:00"
  private let bluetooth = EmulatedBluetooth((0...2).map { EmulatedBluetooth.controller($0) })
  private let log = LogRecord()

  private func listen(_ bound: String = "any:5") async throws -> any Listener {
    try await RFCOMMTransport(system: bluetooth).listen(
      on: LinkAddress("rfcomm:\(bound)"), context: .test(logger: log.logger))
  }

  /// Dials as the device that has the address of a controller.
  private func dial(as number: Int = 1, _ dialed: String = "5") async throws -> any Channel {
    try await RFCOMMTransport(system: bluetooth).connect(
      to: LinkAddress("rfcomm:\(Self.device):\(dialed)?controller=hci\(number)"), context: .test())
  }

  @Test("a device that is refused is logged once in a while, and may connect when the link is free")
  func refusals() async throws {
    let listener = try await listen()
    let first = try await dial()
    let far = try #require(try await nextChannel(of: listener))
    for _ in 0..<3 {
      let second = try await dial(as: 2)
      #expect(try await eventually { !second.isActive })
    }
    #expect(first.isActive && far.isActive)
    #expect(
      log.all == [
        "debug A device has connected device=00:AA:00:00:00:01 link=rfcomm:any:5",
        "warning A device was refused, because another one has the link device=00:AA:00:00:00:02 link=rfcomm:any:5 times=1",
      ])
    // The end of the first connection frees the link.
    let ended = far.closeFuture
    far.close(promise: nil)
    try await ended.get()
    #expect(
      try await eventually {
        let next = try await dial(as: 2)
        let isAccepted = try await eventually {
          !next.isActive || log.all.last?.contains("connected device=00:AA:00:00:00:02") == true
        }
        return isAccepted && next.isActive
      })
    await listener.close()
  }

  @Test("the end of an older connection of a device does not free its link")
  func reconnected() async throws {
    let listener = try await listen()
    let first = try await dial()
    let far = try #require(try await nextChannel(of: listener))
    let second = try await dial()
    let farAgain = try #require(try await nextChannel(of: listener))
    let ended = far.closeFuture
    far.close(promise: nil)
    first.close(promise: nil)
    try await ended.get()
    for _ in 0..<3 {
      let other = try await dial(as: 2)
      #expect(try await eventually { !other.isActive })
    }
    #expect(second.isActive && farAgain.isActive)
    await listener.close()
  }

  @Test("accepted connections outlive their listener, whose stream of channels ends")
  func closing() async throws {
    let listener = try await listen()
    let near = try await dial()
    let far = try #require(try await nextChannel(of: listener))
    await listener.close()
    #expect(try await nextChannel(of: listener) == nil)
    let received = try await far.receiving(count: 2)
    near.writeAndFlush(ByteBuffer(bytes: [1, 2]), promise: nil)
    #expect(try await Array(buffer: received.get().bytes) == [1, 2])
    #expect(bluetooth.openListeners == 0)
    await listener.close()
  }

  @Test("a listener and a dialer pass the facts of their addresses to the kernel")
  func facts() async throws {
    let listener = try await listen("any:11?security=high&controller=hci2")
    let near = try await RFCOMMTransport(system: bluetooth).connect(
      to: LinkAddress("rfcomm:\(Self.device):11?security=low&controller=\(EmulatedBluetooth.address(1))"),
      context: .test(limit: .seconds(100)))
    let anyone = try await RFCOMMTransport(system: bluetooth).connect(
      to: LinkAddress("rfcomm:\(Self.device):11"), context: .test())
    #expect(bluetooth.listened == ["11 00:AA:00:00:00:02 high"])
    #expect(
      bluetooth.dialed == [
        "\(Self.device) 11 00:AA:00:00:00:01 low", "\(Self.device) 11 00:00:00:00:00:00 medium",
      ])
    let seconds = (bluetooth.deadlines[0] - .now()).nanoseconds / 1_000_000_000
    #expect((50...100).contains(seconds))
    for channel in [near, anyone] { try? await channel.close() }
    await listener.close()
  }

  @Test("a listener on the address of a device, and a dialer without one, are refused")
  func roles() async throws {
    let error = await bywayError { try await listen("\(Self.device):5") }
    #expect(error?.code == .invalidAddress && error?.message.contains("write rfcomm:any:5") == true)
    let dialed = await bywayError {
      try await RFCOMMTransport(system: bluetooth).connect(to: LinkAddress("rfcomm:any:5"), context: .test())
    }
    #expect(dialed?.code == .invalidAddress && bluetooth.listened == [])
  }

  @Test("a listener says what it waits for, each reason once, and tries four times a second")
  func waiting() async throws {
    let holder = try await listen("any:6")
    let start = ContinuousClock.now
    let listener = try await listen("any:6?controller=hci3")
    #expect(
      log.all == [
        "notice Waiting for Bluetooth. There is no Bluetooth controller hci3: plug it in, or choose another. There are: "
          + "hci0 (00:AA:00:00:00:00), hci1 (00:AA:00:00:00:01), hci2 (00:AA:00:00:00:02)."
      ])
    bluetooth.set([EmulatedBluetooth.controller(3)])
    #expect(try await eventually { bluetooth.listened.count == 4 })
    // Three attempts after the first listener.
    #expect(start.duration(to: .now) >= .milliseconds(740))
    let reason =
      "warning Waiting for Bluetooth. Channel 6 is already in use: stop what listens there, or choose another channel."
    #expect(Array(log.all.dropFirst()) == [reason])
    #expect(listener.unavailableReason?.hasPrefix("Channel 6 is already in use") == true)
    await holder.close()
    #expect(try await eventually { log.all.count == 3 })
    #expect(log.all.last == "notice The Bluetooth controller is there link=rfcomm:any:6?controller=hci3")
    #expect(listener.unavailableReason == nil)
    await listener.close()
    #expect(bluetooth.openListeners == 0)
  }

  @Test("a listener whose controller is off listens at once, and says so")
  func off() async throws {
    bluetooth.set([EmulatedBluetooth.controller(0, isUp: false), EmulatedBluetooth.controller(1, isUp: false)])
    let listener = try await listen("any:7?controller=hci1")
    #expect(bluetooth.listened == ["7 00:AA:00:00:00:01 medium"])
    #expect(
      log.messages.count == 1
        && log.all[0].hasPrefix("notice Waiting for Bluetooth. The Bluetooth controller hci1 is off"))
    // One that is on and accepts nothing is named, and another one does not matter.
    bluetooth.set([EmulatedBluetooth.controller(0), EmulatedBluetooth.controller(1, isConnectable: false)])
    #expect(listener.unavailableReason?.hasPrefix("The Bluetooth controller hci1 accepts no connections") == true)
    bluetooth.set([
      EmulatedBluetooth.controller(0, isConnectable: false), EmulatedBluetooth.controller(1),
    ])
    #expect(listener.unavailableReason == nil)
    await listener.close()
  }

  @Test("a listener on any controller can be reached over each that is on and accepts connections")
  func anyController() async throws {
    bluetooth.set([
      EmulatedBluetooth.controller(0, isUp: false), EmulatedBluetooth.controller(1, isConnectable: false),
      EmulatedBluetooth.controller(2),
    ])
    let listener = try await listen()
    #expect(listener.unavailableReason == nil && log.all == [])
    bluetooth.set([EmulatedBluetooth.controller(0, isUp: false), EmulatedBluetooth.controller(1, isConnectable: false)])
    #expect(listener.unavailableReason?.hasPrefix("The Bluetooth controller hci1 accepts") == true)
    bluetooth.set([])
    #expect(listener.unavailableReason?.hasPrefix("There is no Bluetooth controller here") == true)
    // A system that hides its controllers does not make the link unavailable.
    bluetooth.hideControllers(EPERM)
    #expect(listener.unavailableReason == nil)
    await listener.close()
  }

  @Test("a listener pauses after a failure to accept, and logs it")
  func acceptFailure() async throws {
    let listener = try await listen()
    // These two are no failures.
    bluetooth.failAccept([EAGAIN, EINTR, EMFILE, EMFILE])
    let start = ContinuousClock.now
    let near = try await dial()
    _ = try #require(try await nextChannel(of: listener))
    #expect(start.duration(to: .now) >= .milliseconds(1990) && bluetooth.acceptCalls == 5)
    let failure = "debug No connection accepted link=rfcomm:any:5 reason=Too many open files"
    #expect(log.all.prefix(2) == [failure, failure] && log.all.count == 3)
    try? await near.close()
    await listener.close()
  }

  @Test("an error that waiting does not solve is the error of a listener, which leaves nothing open")
  func lasting() async throws {
    let holder = try await listen()
    for (bound, fault) in [("any:5", LinkFault.inUse), ("any:5?controller=hci1", .inUse)] {
      let error = await bywayError { try await listen(bound) }
      #expect(error?.code == .linkUnavailable && error?.diagnosis?.fault == fault)
    }
    await holder.close()
    bluetooth.failThreads(EAGAIN)
    let noThread = await bywayError { try await listen() }
    #expect(noThread?.message.contains("cannot be used as a link: Resource temporarily unavailable") == true)
    #expect(bluetooth.openListeners == 0)
    bluetooth.hideControllers(EACCES)
    let hidden = await bywayError { try await listen("any:5?controller=hci1") }
    #expect(hidden?.diagnosis?.fault == .noPermission)
    #expect(log.all == [])
  }

  @Test("a dialer needs a controller that is on, and a thread")
  func dialing() async throws {
    let listener = try await listen()
    func fault(_ options: String = "") async -> LinkFault? {
      await bywayError {
        try await RFCOMMTransport(system: bluetooth).connect(
          to: LinkAddress("rfcomm:\(Self.device):5\(options)"), context: .test())
      }?.diagnosis?.fault
    }
    #expect(await fault("?controller=hci4") == .noFile)
    bluetooth.failThreads(EAGAIN)
    #expect(await fault() == .notConnected)
    bluetooth.failThreads(nil)
    bluetooth.set([EmulatedBluetooth.controller(0, isUp: false), EmulatedBluetooth.controller(1)])
    #expect(await fault("?controller=hci0") == .noRoute)
    bluetooth.hideControllers(EPERM)
    #expect(await fault() == .noPermission)
    #expect(bluetooth.dialed == [])
    await listener.close()
  }

  @Test("a dialer whose thread does not return gives up soon after its deadline")
  func stuck() async throws {
    let gate = try #require(try? Wakeup())
    bluetooth.block(until: gate)
    let transport = RFCOMMTransport(system: bluetooth, grace: .milliseconds(20))
    let error = await bywayError {
      try await transport.connect(to: LinkAddress("rfcomm:\(Self.device):5"), context: .test(limit: .milliseconds(30)))
    }
    #expect(error?.message.hasPrefix("The kernel's Bluetooth does not return from a call") == true, "\(error as Any)")
    gate.wake()
  }

  @Test("no thread is an error of dialing, which uses up none of the sixteen")
  func noThreads() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let dialing = ConnectThreads({ _ throws(SystemError) in throw SystemError(code: EAGAIN) })
    for _ in 0...16 {
      await #expect(throws: SystemError(code: EAGAIN)) {
        _ = try await dialing.open(on: loop, by: .now() + .seconds(10)) { () throws(SystemError) in 0 }
      }
    }
    #expect(ConnectThreads.limit == 16)
  }

  @Test("an error of connecting is the result, and frees its thread")
  func errors() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let system = bluetooth
    let dialing = ConnectThreads({ (run) throws(SystemError) in try system.startThread(run) })
    for _ in 0...16 {
      await #expect(throws: SystemError(code: EHOSTDOWN)) {
        _ = try await dialing.open(on: loop, by: .now() + .seconds(10)) { () throws(SystemError) in
          throw SystemError(code: EHOSTDOWN)
        }
      }
    }
  }
}
