import BywayLineEmulation
import BywayPrimitives
import Glibc
import Synchronization
import TestTools

@testable import BywayLineDevices

/// A device on a cable: a pseudo-terminal whose program answers on its own thread.
final class DeviceProgram: Sendable {
  /// Returns the answer to received bytes at the rate that the near end has set.
  typealias Answer = @Sendable (_ bytes: [UInt8], _ baud: Int) -> [UInt8]

  /// The path of the near end's device.
  let path: String
  private let isOver = Mutex(false)
  private let heard = Mutex<[UInt8]>([])

  /// - Parameters:
  ///   - unasked: text that the device sends regularly by itself.
  ///   - answer: the answer to received bytes.
  init(
    unasked: (text: [UInt8], every: Duration)? = nil, _ answer: @escaping Answer = { _, _ in [] }
  ) throws {
    let terminal = try PseudoTerminal()
    path = terminal.name
    let box = Unchecked(terminal)
    let interval = unasked.map { UInt64($0.every / .nanoseconds(1)) }
    let thread = try SystemThread.start { [self] in
      let terminal = box.value
      var next = MonotonicClock.now
      while !isOver.withLock({ $0 }) {
        var ready = pollfd(fd: terminal.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&ready, 1, 5)
        let bytes = terminal.read(atMost: 4096)
        if !bytes.isEmpty { heard.withLock { $0 += bytes } }
        var answer = bytes.isEmpty ? [] : answer(bytes, Self.baud(of: terminal.descriptor))
        if let unasked, let interval, MonotonicClock.now >= next {
          answer += unasked.text
          next = MonotonicClock.now + interval
        }
        if !answer.isEmpty { _ = terminal.write(answer[...]) }
      }
    }
    pthread_detach(thread)
  }

  /// All bytes that the near end has sent.
  var all: [UInt8] { heard.withLock { $0 } }

  func stop() { isOver.withLock { $0 = true } }

  /// Returns the rate that the other side has set, by TCGETS2: the C library supports only some rates.
  private static func baud(of descriptor: CInt) -> Int {
    var words = [UInt32](repeating: 0, count: 11)
    let result = ioctl(descriptor, 0x802C_542A, &words)
    return result == 0 ? Int(words[10]) : 0
  }

  /// A value that is passed to the thread and used only there.
  private struct Unchecked: @unchecked Sendable {
    let value: PseudoTerminal
    init(_ value: PseudoTerminal) { self.value = value }
  }
}
