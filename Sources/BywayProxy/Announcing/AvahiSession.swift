import Byway
import BywayLibC
import Synchronization

/// A connection to Avahi's daemon, with the entries that it publishes.
///
/// Calls must not overlap. The library has its own thread, which only stores states.
final class AvahiSession: @unchecked Sendable {
  enum State: Hashable {
    /// The daemon is not running, or is still choosing a name for this machine.
    case waiting
    case running
    /// The daemon has gone, and with it all published entries. A new session may find it again.
    case lost
  }

  /// The entries of one device.
  final class Publication: @unchecked Sendable {
    fileprivate let group: OpaquePointer
    private let state: StateBox

    fileprivate init(_ group: OpaquePointer, _ state: StateBox) {
      self.group = group
      self.state = state
    }

    /// Whether the entries are not published, because the title or the name is taken in the network, or the daemon failed.
    var isRefused: Bool { [AvahiLibrary.GroupState.collision, AvahiLibrary.GroupState.failed].contains(state.value) }
  }

  fileprivate final class StateBox: Sendable {
    private let state: Atomic<Int32>

    init(_ value: Int32) {
      state = Atomic(value)
    }

    var value: Int32 { state.load(ordering: .acquiring) }

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    static let write: AvahiLibrary.StateCallback = { _, state, box in
      guard let box else { return }
      Unmanaged<StateBox>.fromOpaque(box).takeUnretainedValue().state.store(state, ordering: .releasing)
    }
  }

  private let library: AvahiLibrary
  private let poll: OpaquePointer
  private let client: OpaquePointer
  private let clientState: StateBox

  /// - Throws: `BywayError` if D-Bus cannot be reached.
  init(_ library: AvahiLibrary) throws {
    self.library = library
    guard let poll = library.newPoll() else { throw Self.failure("Out of memory.") }
    let box = StateBox(AvahiLibrary.ClientState.connecting)
    var error: Int32 = 0
    guard
      let client = library.newClient(library.poll(poll), AvahiLibrary.noFail, StateBox.write, box.pointer, &error)
    else {
      library.freePoll(poll)
      throw Self.failure(library.text(of: error))
    }
    guard library.startPoll(poll) == 0 else {
      library.freeClient(client)
      library.freePoll(poll)
      throw Self.failure("It cannot start a thread.")
    }
    self.poll = poll
    self.client = client
    clientState = box
  }

  var state: State {
    switch clientState.value {
    case AvahiLibrary.ClientState.running: .running
    case AvahiLibrary.ClientState.failed: .lost
    default: .waiting
    }
  }

  /// - Throws: `BywayError` if Avahi refuses it.
  func publish(_ announcement: Announcement) throws -> Publication {
    library.lock(poll)
    defer { library.unlock(poll) }
    let box = StateBox(0)
    defer { withExtendedLifetime(box) {} }
    guard let group = library.newGroup(client, StateBox.write, box.pointer) else {
      throw Self.failure(library.text(of: library.clientError(client)))
    }
    do {
      for address in announcement.addresses { try add(address, of: announcement.host, to: group) }
      try check(
        library.addService(
          group, AvahiLibrary.unspecified, AvahiLibrary.unspecified, 0, announcement.title, announcement.service, nil,
          announcement.host, announcement.port, nil))
      try check(library.commit(group))
    } catch {
      _ = library.freeGroup(group)
      throw error
    }
    return Publication(group, box)
  }

  func withdraw(_ publication: Publication) {
    library.lock(poll)
    _ = library.freeGroup(publication.group)
    library.unlock(poll)
  }

  /// Withdraws all entries. No method may be called afterwards.
  func close() {
    _ = library.stopPoll(poll)
    library.freeClient(client)
    library.freePoll(poll)
  }

  private func add(_ address: Announcement.Address, of host: String, to group: OpaquePointer) throws {
    var value = AvahiLibrary.Address(family: address.bytes.count == 4 ? 0 : 1, bytes: (0, 0, 0, 0))
    withUnsafeMutableBytes(of: &value.bytes) { $0.copyBytes(from: address.bytes.prefix(16)) }
    try check(
      library.addAddress(
        group, address.interface, AvahiLibrary.unspecified, AvahiLibrary.noReverse, host, &value))
  }

  private func check(_ result: Int32) throws {
    if result < 0 { throw Self.failure(library.text(of: result)) }
  }

  private static func failure(_ reason: String) -> BywayError {
    BywayError(.linkUnavailable, "Avahi cannot publish the device: \(reason)")
  }
}
