import BywayLibC
import BywayPrimitives
import Synchronization

/// The control endpoint of a function in FunctionFS. Safe on any thread.
final class FunctionControl: Sendable {
  private struct State {
    var isEnabled = false
    /// How often the endpoints were enabled, so that their users notice an end that was short.
    var activation = 0
  }

  let descriptor: CInt
  private let folder: String
  private let state = Mutex(State())

  /// Opens the endpoint and describes the function.
  init(_ folder: String) throws(SystemError) {
    self.folder = folder
    // A file that is a terminal must not become the terminal of this process, which a hang-up would end.
    descriptor = try Descriptor.open("\(folder)/ep0", O_RDWR | O_NONBLOCK | O_NOCTTY)
    do throws(SystemError) {
      try Descriptor.write(FunctionDescriptors.descriptors, to: descriptor)
      try Descriptor.write(FunctionDescriptors.strings, to: descriptor)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// For tests: a descriptor that delivers events.
  init(events descriptor: CInt) {
    folder = ""
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// Reads all events.
  /// - Returns: the number of the current activation; `nil` while the endpoints are not enabled.
  func update() -> Int? {
    state.withLock { state in
      var bytes = [UInt8](repeating: 0, count: 8 * FunctionEvent.size)
      while true {
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { break }
        for event in FunctionEvent.parse(bytes[..<count]) { handle(event, &state) }
      }
      return state.isEnabled ? state.activation : nil
    }
  }

  private func handle(_ event: FunctionEvent, _ state: inout State) {
    switch event {
    case .enabled:
      state.isEnabled = true
      state.activation += 1
    case .disabled, .unbound: state.isEnabled = false
    // While suspended, transfers wait, and the line layer keeps its session.
    case .bound, .suspended, .resumed: break
    case .request(let isToHost): refuse(isToHost: isToHost)
    }
  }

  /// Stalls a request: the interface has none of its own. A call in the direction of the request answers it, one in the other direction
  /// stalls it.
  private func refuse(isToHost: Bool) {
    var byte: UInt8 = 0
    if isToHost { _ = read(descriptor, &byte, 0) } else { _ = write(descriptor, &byte, 0) }
  }

  /// Opens the bulk endpoints.
  /// - Parameter activation: the result of ``update()``.
  func openPipe(activation: Int) throws(SystemError) -> FunctionPipe {
    try FunctionPipe(self, folder, activation: activation)
  }
}
