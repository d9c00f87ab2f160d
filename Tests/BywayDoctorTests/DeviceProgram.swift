import Glibc
import LineEmulation
import Primitives
import Synchronization
import TestTools

@testable import LineDevices

/// A device at the far end of a cable: a pseudo-terminal, and a program on its own thread that answers what it hears.
final class DeviceProgram: Sendable {
  /// What is said, to bytes heard at a rate that the near end has set.
  typealias Answer = @Sendable (_ bytes: [UInt8], _ baud: Int) -> [UInt8]

  /// What the near end opens.
  let path: String
  private let isOver = Mutex(false)
  private let heard = Mutex<[UInt8]>([])

  /// - Parameters:
  ///   - unasked: what it says by itself, every so often.
  ///   - answer: what it says to what it hears.
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

  /// All that the near end has said.
  var all: [UInt8] { heard.withLock { $0 } }

  func stop() { isOver.withLock { $0 = true } }

  /// As the other side has set it (TCGETS2): the C library knows some rates only.
  private static func baud(of descriptor: CInt) -> Int {
    var words = [UInt32](repeating: 0, count: 11)
    let result = ioctl(descriptor, 0x802C_542A, &words)
    return result == 0 ? Int(words[10]) : 0
  }

  /// Handed over to the thread, and used by that alone.
  private struct Unchecked: @unchecked Sendable {
    let value: PseudoTerminal
    init(_ value: PseudoTerminal) { self.value = value }
  }
}
