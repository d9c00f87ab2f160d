import BywayLibC
import BywayPrimitives
import Synchronization

/// A thread that waits for port events. No event loop can read them with credentials. Safe on any thread.
final class UeventListener: Sendable {
  /// The end of a pipe whose closing ends the thread.
  private let life: Mutex<CInt?>
  private let listening = Atomic(true)

  /// Whether the listener still runs. It ends by itself if the socket fails.
  var isListening: Bool { listening.load(ordering: .relaxed) }

  /// - Parameter changed: called on that thread when ports may have come or gone.
  /// - Throws: if there is no such socket, as in some containers.
  init(_ changed: @escaping @Sendable () -> Void) throws(SystemError) {
    let socket = try UeventSocket()
    var ends: [CInt] = [-1, -1]
    try SystemError.check(pipe(&ends))
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    life = Mutex(ends[1])
    let job = Job(socket, stop: ends[0], changed, listener: self)
    do throws(SystemError) {
      pthread_detach(try SystemThread.start { job.run() })
    } catch {
      stop()
      throw error
    }
  }

  deinit { stop() }

  /// Stops the thread. Returns immediately; a call of `changed` may still be in progress.
  func stop() {
    if let descriptor = life.withLock({ $0.take() }) { close(descriptor) }
  }

  fileprivate func ended() { listening.store(false, ordering: .relaxed) }

  /// The state that the thread owns.
  private final class Job {
    private var socket: UeventSocket
    private let stop: CInt
    private let changed: @Sendable () -> Void
    private weak let listener: UeventListener?

    init(
      _ socket: consuming UeventSocket, stop: CInt, _ changed: @escaping @Sendable () -> Void, listener: UeventListener
    ) {
      self.socket = socket
      self.stop = stop
      self.changed = changed
      self.listener = listener
    }

    deinit { close(stop) }

    func run() {
      while wait() {
        do throws(SystemError) {
          if try areOthers() { changed() }
        } catch {
          listener?.ended()
          // Report a change, so that the owner starts to poll.
          changed()
          return
        }
      }
    }

    private func wait() -> Bool {
      var descriptors = [
        pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: stop, events: 0, revents: 0),
      ]
      _ = poll(&descriptors, 2, -1)
      return descriptors[1].revents == 0
    }

    /// Reads a limited number of messages, so that the thread can be stopped.
    private func areOthers() throws(SystemError) -> Bool {
      var areOthers = false
      for _ in 0..<64 {
        switch try socket.read() {
        case .event(let event): areOthers = areOthers || event.subsystem == "tty"
        case .lost: areOthers = true
        case .unknown: break
        case .nothing: return areOthers
        }
      }
      return areOthers
    }
  }
}
