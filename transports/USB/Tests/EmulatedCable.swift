import Byway
import Glibc
import NIOCore
import Synchronization
import TestTools
import TransportTestSupport

@testable import USBTransport

/// A cable in memory with the rules of bulk endpoints: a transfer is complete when its receiver's buffer is full, or with a packet that is
/// shorter than the others.
final class EmulatedCable: Transport, @unchecked Sendable {
  // Sendable: its variables are in the mutex.
  static let packetSize = 512

  struct Direction {
    var packets: [(bytes: [UInt8], slot: Int?)] = []
    var receivers: [(memory: UnsafeMutableRawBufferPointer, slot: Int, filled: Int)] = []
  }

  struct State {
    /// The cable since it was last plugged in.
    var isPlugged = true
    var activation = 0
    /// The directions from the computer, and from the device.
    var directions = [Direction(), Direction()]
    var completions: [[TransferCompletion]] = [[], []]
    var bells: [CInt?] = [nil, nil]
    var transferred = [0, 0]
    var closedPipes = 0
    /// How often each end has looked for events.
    var looks = [0, 0]
    /// The number of bytes from the device after which the cable is unplugged.
    var unplugsAfter: Int?
  }

  let scheme = "cable"
  // The state of a line is kept by its address, so each cable has its own.
  private let number = UInt32.random(in: 0 ... .max)
  let state = Mutex(State())

  var computer: String { "cable:computer-\(number)" }
  var device: String { "cable:device-\(number)" }

  func check(_ address: LinkAddress) throws {}

  func line(for address: LinkAddress) throws -> LineProperties? {
    try USBTransport().line(for: LinkAddress("usb:1d6b:0104"))
  }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await open(side: 0, context, to: nil)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    try await DeviceWatch(device: "the cable", logger: context.logger) { queue in
      try await self.open(side: 1, context, to: queue)
    }.listen(on: address)
  }

  func open(side: Int, _ context: LinkContext, to queue: ChannelQueue?) async throws -> any Channel {
    guard state.withLock({ $0.isPlugged }) else { throw GadgetFailure.noHost("cable") }
    let pipe = try EmulatedPipe(self, side: side)
    return try await ThreadChannel.open(on: context.group, to: queue) { socket in
      TransferPump(pipe, socket: socket, name: "cable", logger: context.logger).run()
    }
  }

  /// Loses all transfers and ends both pipes.
  func unplug() {
    state.withLock { Self.unplug(&$0) }
  }

  func plug() {
    state.withLock { $0.isPlugged = true }
  }

  static func unplug(_ state: inout State) {
    state.isPlugged = false
    state.activation += 1
    state.directions = [Direction(), Direction()]
    state.completions = [[], []]
    for side in 0...1 { ring(side, state) }
  }

  static func ring(_ side: Int, _ state: State) {
    var byte: UInt8 = 0
    if let bell = state.bells[side] { _ = write(bell, &byte, 1) }
  }

  /// Moves the packets of a direction into the buffers of its receiver.
  static func move(from side: Int, _ state: inout State) {
    let other = 1 - side
    while let receiver = state.directions[side].receivers.first, let packet = state.directions[side].packets.first {
      state.directions[side].packets.removeFirst()
      UnsafeMutableRawBufferPointer(rebasing: receiver.memory[receiver.filled...]).copyBytes(from: packet.bytes)
      let filled = receiver.filled + packet.bytes.count
      state.directions[side].receivers[0].filled = filled
      if packet.bytes.count < packetSize || filled == receiver.memory.count {
        state.directions[side].receivers.removeFirst()
        state.completions[other].append(.received(slot: receiver.slot, count: filled))
        ring(other, state)
      }
      if let slot = packet.slot {
        state.completions[side].append(.sent(slot: slot))
        ring(side, state)
      }
      state.transferred[side] += packet.bytes.count
      if side == 1, let limit = state.unplugsAfter, state.transferred[1] >= limit {
        state.unplugsAfter = nil
        return unplug(&state)
      }
    }
  }
}

/// An end of a cable, until it is unplugged.
final class EmulatedPipe: BulkPipe, @unchecked Sendable {
  // Sendable: its variables are constants.
  private let cable: EmulatedCable
  private let side: Int
  private let activation: Int
  private let bell: (reading: CInt, writing: CInt)

  init(_ cable: EmulatedCable, side: Int) throws {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFL, O_NONBLOCK) == 0 }) else {
      throw FixtureError("no pipe: \(errno)")
    }
    (self.cable, self.side) = (cable, side)
    let writing = ends[1]
    bell = (ends[0], writing)
    activation = cable.state.withLock { state in
      state.bells[side] = writing
      state.completions[side] = []
      return state.activation
    }
  }

  var waits: [pollfd] {
    cable.state.withLock { $0.looks[side] += 1 }
    return [pollfd(fd: bell.reading, events: Int16(POLLIN), revents: 0)]
  }

  private func change(_ body: (inout EmulatedCable.State) -> Void) throws(PipeEnd) {
    let isOver = cable.state.withLock { state in
      guard state.activation == activation, state.isPlugged else { return true }
      body(&state)
      return false
    }
    if isOver { throw PipeEnd("it was unplugged") }
  }

  func receive(into memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    nonisolated(unsafe) let memory = memory
    try change { state in
      state.directions[1 - side].receivers.append((memory, slot, 0))
      EmulatedCable.move(from: 1 - side, &state)
    }
  }

  func send(_ memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    var rest = Array(memory)[...]
    var packets: [[UInt8]] = []
    while !rest.isEmpty {
      packets.append(Array(rest.prefix(EmulatedCable.packetSize)))
      rest = rest.dropFirst(EmulatedCable.packetSize)
    }
    try change { state in
      for (index, packet) in packets.enumerated() {
        state.directions[side].packets.append((packet, index == packets.count - 1 ? slot : nil))
      }
      EmulatedCable.move(from: side, &state)
    }
  }

  func nextCompletion() throws(PipeEnd) -> TransferCompletion? {
    var byte: UInt8 = 0
    var completion: TransferCompletion?
    try change { state in
      if state.completions[side].isEmpty {
        while read(bell.reading, &byte, 1) == 1 {}
      } else {
        completion = state.completions[side].removeFirst()
      }
    }
    return completion
  }

  func close() {
    cable.state.withLock { state in
      state.closedPipes += 1
      guard state.activation == activation else { return }
      state.bells[side] = nil
      state.directions[1 - side].receivers = []
      state.directions[side].packets = []
    }
    Glibc.close(bell.reading)
    Glibc.close(bell.writing)
  }
}
