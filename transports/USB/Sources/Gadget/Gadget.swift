import Byway
import BywayPrimitives
import Logging
import NIOCore
import Synchronization

/// A gadget or a function of one, which exists while a listener or a channel uses it. Safe on any thread.
final class Gadget: Sendable {
  private struct State {
    var control: FunctionControl?
    /// The channels, and the listener until it is closed.
    var users = 1
    var isClosed = false
  }

  private let place: GadgetPlace
  private let layout: GadgetLayout
  private let state = Mutex(State())

  init(_ place: GadgetPlace, layout: GadgetLayout) {
    self.place = place
    self.layout = layout
  }

  private var files: GadgetFiles? {
    switch place {
    case .created(let settings): GadgetFiles(settings: settings, layout: layout)
    case .mounted: nil
    }
  }

  /// Opens a channel to the computer.
  /// - Throws: ``GadgetFailure``.
  func open(on group: any EventLoopGroup, to queue: ChannelQueue, logger: Logger) async throws -> any Channel {
    let pipe = try openPipe()
    let name = "\(place)"
    do {
      // The kernel takes its time to remove a gadget.
      return try await ThreadChannel.open(on: group, to: queue, patience: .seconds(10)) { [self] socket in
        TransferPump(pipe, socket: socket, name: name, logger: logger, released: release).run()
      }
    } catch {
      if error is ThreadChannel.StartFailure {
        pipe.close()
        release()
      }
      throw GadgetFailure.unusable(name, "no channel can be made of it (\(error))")
    }
  }

  /// Ends the listener. The gadget is removed with its last channel.
  func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { release() }
  }

  private func openPipe() throws(GadgetFailure) -> FunctionPipe {
    let result = state.withLock { state in
      Result { () throws(GadgetFailure) in
        guard !state.isClosed else { throw .closed }
        let control: FunctionControl
        if let existing = state.control { control = existing } else { control = try makeControl() }
        state.control = control
        guard let activation = control.update() else { throw .noHost("\(place)") }
        do throws(SystemError) {
          let pipe = try control.openPipe(activation: activation)
          state.users += 1
          return pipe
        } catch {
          throw GadgetFailure(opening: "\(place)", error)
        }
      }
    }
    return try result.get()
  }

  private func makeControl() throws(GadgetFailure) -> FunctionControl {
    switch place {
    case .mounted(let path):
      do {
        return try FunctionControl(path)
      } catch {
        throw GadgetFailure(opening: path, error)
      }
    case .created(let settings):
      let files = GadgetFiles(settings: settings, layout: layout)
      try files.create()
      do throws(GadgetFailure) {
        let control: FunctionControl
        do {
          control = try FunctionControl(files.function)
        } catch {
          throw .unusable(settings.name, "\(error)")
        }
        try files.bind()
        return control
      } catch {
        files.remove()
        throw error
      }
    }
  }

  private func release() {
    state.withLock { state in
      state.users -= 1
      guard state.users == 0, state.control != nil else { return }
      // Closing the control endpoint takes the function off the cable.
      state.control = nil
      files?.remove()
    }
  }
}
