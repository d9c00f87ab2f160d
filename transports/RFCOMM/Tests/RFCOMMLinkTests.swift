import Byway
import BywayPrimitives
import Glibc
import Logging
import NIOCore
import NIOPosix
import TestTools
import Testing
import TransportTestSupport

@testable import RFCOMMTransport

/// Tests what needs no hardware: ``EmulatedBluetooth`` has the connections.
@Suite struct RFCOMMLinkTests {
  private static let device = "00:AA:00:00:00:00"
  private let bluetooth = EmulatedBluetooth()

  @Test("socket addresses and descriptions of controllers have the layout of the kernel")
  func layout() throws {
    let device = try #require(BluetoothAddress("00:1A:7D:DA:71:13"))
    #expect(KernelBluetooth.socketAddress(device, 7) == [31, 0, 0x13, 0x71, 0xDA, 0x7D, 0x1A, 0, 7, 0])
    var description = [UInt8](repeating: 0, count: 92)
    description.replaceSubrange(2..<7, with: Array("hci12".utf8))
    description.replaceSubrange(10..<16, with: device.bytes)
    func controller(_ flags: UInt8) -> BluetoothController? {
      description[16] = flags
      return BluetoothController(description: description)
    }
    for (flags, isUp, isConnectable) in [(0x0D as UInt8, true, true), (0x05, true, false), (0x04, false, false)] {
      let expected = BluetoothController(name: "hci12", address: device, isUp: isUp, isConnectable: isConnectable)
      #expect(controller(flags) == expected)
    }
    #expect(BluetoothController(description: [1, 2]) == nil)
    #expect(RFCOMMPlace.Security.allCases.map(\.level) == [1, 2, 3])
  }

  @Test("errors of connecting say what to do")
  func connecting() throws {
    let place = try RFCOMMPlace(LinkAddress("rfcomm:\(Self.device):7"))
    let up = [EmulatedBluetooth.controller(5)]
    let expected: [(CInt, [BluetoothController], LinkFault, String)] = [
      (EAFNOSUPPORT, [], .noRoute, "modprobe bluetooth"),
      (EPROTONOSUPPORT, up, .noRoute, "modprobe rfcomm"),
      (EHOSTUNREACH, [], .noFile, "There is no Bluetooth controller here: plug one in"),
      (EHOSTUNREACH, [EmulatedBluetooth.controller(5, isUp: false)], .noRoute, "The Bluetooth controller hci5 is off"),
      (EHOSTUNREACH, [EmulatedBluetooth.controller(0)], .noRoute, "this machine's own controller"),
      (ENODEV, up, .notConnected, "cannot be used as a link"),
      (ENETDOWN, [], .noFile, "There is no Bluetooth controller"),
      (EHOSTDOWN, up, .noAnswer, "did not answer: switch it on, move it closer"),
      (ETIMEDOUT, up, .noAnswer, "did not answer"),
      (
        ECONNREFUSED, up, .nobodyListens,
        "Nothing listens on channel 7 of rfcomm:\(Self.device):7: start a gateway there"
      ),
      (
        EACCES, up, .badSettings,
        "refused a connection with security=medium: pair the two with \"bluetoothctl pair \(Self.device)\""
      ),
      (ECONNRESET, up, .badSettings, "refused a connection"),
      (EBADE, up, .badSettings, "refused a connection"),
      (EBUSY, up, .inUse, "a channel has one connection"),
      (EPERM, up, .noPermission, "Permission denied"),
      (EIO, up, .notConnected, "cannot be used as a link"),
    ]
    for (code, controllers, fault, part) in expected {
      let failure = RFCOMMFailure(
        connecting: place, to: try place.dialed(), SystemError(code: code), on: controllers, expecting: .gateway)
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(code): \(failure.message)")
    }
  }

  @Test("errors of listening say what to do")
  func listening() throws {
    let place = try RFCOMMPlace(LinkAddress("rfcomm:any:7"))
    let expected: [(CInt, LinkFault, String)] = [
      (EADDRINUSE, .inUse, "Channel 7 is already in use: stop what listens there, or choose another channel."),
      (EACCES, .noPermission, "Permission denied on rfcomm:any:7"), (EPERM, .noPermission, "Permission denied"),
      (EAFNOSUPPORT, .noRoute, "load the module bluetooth"), (ESOCKTNOSUPPORT, .noRoute, "load the module rfcomm"),
      (EIO, .notConnected, "cannot be used"),
    ]
    for (code, fault, part) in expected {
      let failure = RFCOMMFailure(listeningOn: place, SystemError(code: code))
      #expect(failure.diagnosis.fault == fault && failure.message.contains(part), "\(failure.message)")
      #expect(!failure.isAbsence)
    }
  }

  @Test("a missing controller is explained with the others")
  func absence() {
    let both = [EmulatedBluetooth.controller(0, isUp: false), EmulatedBluetooth.controller(1)]
    #expect(RFCOMMFailure.absence(of: nil, among: both) == nil)
    #expect(RFCOMMFailure.absence(of: .name("hci1"), among: both) == nil)
    #expect(RFCOMMFailure.absence(of: .address(EmulatedBluetooth.address(1)), among: both) == nil)
    #expect(RFCOMMFailure.absence(of: .name("hci0"), among: both)?.message.contains("hci0 is off") == true)
    let missing = RFCOMMFailure.absence(of: .name("hci2"), among: both)
    #expect(
      missing?.message.hasSuffix("There are: hci0 (00:AA:00:00:00:00), hci1 (00:AA:00:00:00:01).") == true
        && missing?.isAbsence == true)
    let none = RFCOMMFailure.absence(of: .name("hci2"), among: [])
    #expect(none?.message.hasSuffix("There are no Bluetooth controllers here.") == true)
  }

  @Test("byway ports lists the controllers with addresses to listen on")
  func ports() throws {
    let transport = RFCOMMTransport(system: bluetooth)
    #expect(try transport.ports().map(\.address) == ["rfcomm:any:3"])
    bluetooth.set([EmulatedBluetooth.controller(0), EmulatedBluetooth.controller(1, isUp: false)])
    let ports = try transport.ports()
    #expect(ports.map(\.address) == ["rfcomm:any:3?controller=hci0", "rfcomm:any:3?controller=hci1"])
    #expect(ports.map(\.unavailableReason) == [nil, "is off"])
    #expect(ports.last?.device == "hci1" && ports.last?.name == "Bluetooth 00:AA:00:00:00:01")
  }

  @Test("a link carries a stream both ways, and ends each direction of its own")
  func stream() async throws {
    let (listener, near, far) = try await link("any:9", "\(Self.device):9")
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
    let received = try await far.receiving(limit: .seconds(30))
    near.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    try await near.close(mode: .output)
    #expect(try await Array(buffer: received.get().bytes) == bytes)
    let answer = try await near.receiving(count: 3, limit: .seconds(30))
    far.writeAndFlush(ByteBuffer(bytes: [1, 0, 2]), promise: nil)
    #expect(try await Array(buffer: answer.get().bytes) == [1, 0, 2])
    far.close(promise: nil)
    try? await near.close()
    await listener.close()
  }

  @Test("a listener is refused a channel that is taken, and frees its own")
  func channels() async throws {
    let transport = RFCOMMTransport(system: bluetooth)
    let address = try LinkAddress("rfcomm:any:4")
    let listener = try await transport.listen(on: address, context: .test())
    let taken = await bywayError { try await transport.listen(on: address, context: .test()) }
    #expect(taken?.message.hasPrefix("Channel 4 is already in use") == true, "\(taken as Any)")
    await listener.close()
    try await transport.listen(on: address, context: .test()).close()
  }

  @Test("a connection of a second device is closed, and the first one may connect again")
  func secondDevice() async throws {
    let transport = RFCOMMTransport(system: bluetooth)
    let listener = try await transport.listen(on: LinkAddress("rfcomm:any:5"), context: .test())
    bluetooth.set((0...2).map { EmulatedBluetooth.controller($0) })
    func dial(_ controller: String) async throws -> any Channel {
      try await transport.connect(
        to: LinkAddress("rfcomm:\(Self.device):5?controller=\(controller)"), context: .test())
    }
    let first = try await dial("hci1")
    let far = try #require(try await nextChannel(of: listener))
    let second = try await dial("hci2")
    let isRefused = try await eventually { !second.isActive }
    #expect(isRefused && first.isActive && far.isActive)
    #expect(bluetooth.localAddresses == [EmulatedBluetooth.address(1), EmulatedBluetooth.address(2)])
    // The same device may connect again.
    _ = try await dial("hci1")
    let farAgain = try #require(try await nextChannel(of: listener))
    #expect(farAgain.isActive)
    bluetooth.cut()
    await listener.close()
  }

  @Test("a gateway waits for its controller, and says so")
  func waiting() async throws {
    let transport = RFCOMMTransport(system: bluetooth)
    let address = try LinkAddress("rfcomm:any:6?controller=hci3")
    let listener = try await transport.listen(on: address, context: .test())
    #expect(listener.unavailableReason?.hasPrefix("There is no Bluetooth controller hci3") == true)
    let dialed = try LinkAddress("rfcomm:\(Self.device):6")
    let early = await bywayError { try await transport.connect(to: dialed, context: .test()) }
    #expect(early?.message.hasPrefix("Nothing listens on channel 6") == true, "\(early as Any)")
    bluetooth.set([EmulatedBluetooth.controller(3, isConnectable: false)])
    #expect(listener.unavailableReason?.contains("accepts no connections: run \"btmgmt connectable on\"") == true)
    bluetooth.set([EmulatedBluetooth.controller(3)])
    #expect(listener.unavailableReason == nil)
    let isOpen = try await eventually { (try? await transport.connect(to: dialed, context: .test()).close()) != nil }
    #expect(isOpen)
    await listener.close()
  }

  @Test("a gateway does not wait for a kernel without RFCOMM")
  func noModule() async throws {
    bluetooth.set([])
    bluetooth.spoil(EPROTONOSUPPORT)
    let address = try LinkAddress("rfcomm:any:6?controller=hci3")
    let error = await bywayError {
      try await RFCOMMTransport(system: bluetooth).listen(on: address, context: .test())
    }
    #expect(error?.message.contains("load the module rfcomm") == true, "\(error as Any)")
  }

  @Test("a gateway says why it cannot use a controller that came later")
  func takenLater() async throws {
    let transport = RFCOMMTransport(system: bluetooth)
    let holder = try await transport.listen(on: LinkAddress("rfcomm:any:6"), context: .test())
    let waiting = try await transport.listen(on: LinkAddress("rfcomm:any:6?controller=hci3"), context: .test())
    bluetooth.set([EmulatedBluetooth.controller(3)])
    let isSaid = try await eventually {
      waiting.unavailableReason?.hasPrefix("Channel 6 is already in use") == true
    }
    #expect(isSaid)
    await holder.close()
    let isOver = try await eventually { waiting.unavailableReason == nil }
    #expect(isOver)
    await waiting.close()
  }

  @Test("a session continues over the next connection")
  func reconnection() async throws {
    let (listener, near, far) = try await link("any:8", "\(Self.device):8")
    let bytes = [UInt8](repeating: 5, count: 300_000)
    let received = try await far.receiving(count: bytes.count, limit: .seconds(30))
    let first = try await near.receiving(count: 1, limit: .seconds(30))
    far.writeAndFlush(ByteBuffer(bytes: [1]), promise: nil)
    _ = try await first.get()
    bluetooth.cut()
    near.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    #expect(try await Array(buffer: received.get().bytes) == bytes)
    #expect(bluetooth.localAddresses.count == 2)
    far.close(promise: nil)
    try? await near.close()
    await listener.close()
  }

  @Test("a session that waits for its device does not continue over the connection of another one")
  func otherDevice() async throws {
    let controllers = (0...2).map { EmulatedBluetooth.controller($0) }
    bluetooth.set(controllers)
    let (listener, near, far) = try await link("any:10", "\(Self.device):10?controller=hci1")
    let first = try await far.receiving(count: 1, limit: .seconds(30))
    near.writeAndFlush(ByteBuffer(bytes: [1]), promise: nil)
    _ = try await first.get()
    bluetooth.set([controllers[2]])
    bluetooth.cut()
    let address = try LinkAddress("rfcomm:\(Self.device):10?controller=hci2")
    // It is refused until the listener has noticed the loss of the first connection.
    var other: (any Channel)?
    let isEnded = try await eventually(within: .seconds(20)) {
      if other?.isActive != true {
        other = try? await RFCOMMTransport(system: bluetooth).connect(to: address, context: .test())
      }
      return !far.isActive
    }
    #expect(isEnded)
    bluetooth.cut()
    bluetooth.set(controllers)
    let isTold = try await eventually { !near.isActive }
    #expect(isTold)
    await listener.close()
  }

  @Test("a call that does not return is given up at the deadline, and a few of them are the limit")
  func stuck() async throws {
    let dialing = ConnectThreads(
      { (run) throws(SystemError) in try KernelBluetooth().startThread(run) }, grace: .milliseconds(10))
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    var (gate, late): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &gate) == 0, socketpair(AF_UNIX, kind, 0, &late) == 0 else {
      throw FixtureError("no sockets: \(errno)")
    }
    let (closed, opened) = (gate[0], late[0])
    for number in 0..<ConnectThreads.limit {
      await #expect(throws: ConnectThreads.Failure.stuck) {
        _ = try await dialing.open(on: loop, by: .now()) { () throws(SystemError) in
          var byte: UInt8 = 0
          read(closed, &byte, 1)
          return number == 0 ? opened : dup(opened)
        }
      }
    }
    await #expect(throws: ConnectThreads.Failure.stuck) {
      _ = try await dialing.open(on: loop, by: .now() + .seconds(600)) { () throws(SystemError) in -1 }
    }
    close(gate[1])
    let works = try await eventually {
      let result = try? await dialing.open(on: loop, by: .now() + .seconds(10)) { () throws(SystemError) in 4711 }
      return result == 4711
    }
    #expect(works)
    // All descriptors that came late were closed.
    let peer = late[1]
    let isClosed = try await eventually {
      var byte: UInt8 = 0
      return recv(peer, &byte, 1, CInt(MSG_DONTWAIT)) == 0
    }
    #expect(isClosed)
    for descriptor in [closed, peer] { close(descriptor) }
    #expect(
      RFCOMMFailure.kernelStuck.message.contains("dmesg") && RFCOMMFailure.kernelStuck.diagnosis.fault == .noAnswer)
  }

  @Test("the seventeenth connection at once is told to wait, if no call is overdue")
  func busy() async throws {
    let dialing = ConnectThreads({ (run) throws(SystemError) in try KernelBluetooth().startThread(run) })
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let gate = try Wakeup()
    let opened = (0..<ConnectThreads.limit).map { _ in
      Task {
        try await dialing.open(on: loop, by: .now() + .seconds(60)) { () throws(SystemError) in
          var ready = pollfd(fd: gate.reading, events: Int16(POLLIN), revents: 0)
          poll(&ready, 1, 60_000)
          return 4711
        }
      }
    }
    let isRefused = try await eventually {
      do {
        _ = try await dialing.open(on: loop, by: .now() + .seconds(60)) { () throws(SystemError) in 4711 }
        return false
      } catch {
        return error as? ConnectThreads.Failure == .busy
      }
    }
    #expect(isRefused)
    gate.wake()
    for task in opened { #expect(try await task.value == 4711) }
    let again = try await dialing.open(on: loop, by: .now() + .seconds(60)) { () throws(SystemError) in 4711 }
    #expect(again == 4711)
    #expect(RFCOMMFailure.tooMany.message.contains("try again") && RFCOMMFailure.tooMany.diagnosis.fault == .inUse)
  }

  /// Opens a link with the line layer on both ends.
  private func link(_ bound: String, _ dialed: String) async throws -> (
    any Listener, near: any Channel, far: any Channel
  ) {
    // The state of a line is kept by its address, so each link has a channel of its own.
    let registry = TransportRegistry([RFCOMMTransport(system: bluetooth)])
    let listener = try await registry.link("rfcomm:\(bound)").transport.listen(
      on: LinkAddress("rfcomm:\(bound)"), context: .test())
    let near = try await registry.link("rfcomm:\(dialed)").transport.connect(
      to: LinkAddress("rfcomm:\(dialed)"), context: .test())
    let far = try #require(try await nextChannel(of: listener))
    return (listener, near, far)
  }
}
