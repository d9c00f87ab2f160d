import Byway
import BywayLibC

/// The functions of Avahi's client library (libavahi-client.so.3) that are needed for publishing.
///
/// It is loaded only if devices are to be published, because it loads D-Bus, which costs each daemon half a mebibyte.
/// Its functions and numbers are those of avahi-client/publish.h, unchanged since 2005.
struct AvahiLibrary: @unchecked Sendable {
  typealias StateCallback = @convention(c) (OpaquePointer?, Int32, UnsafeMutableRawPointer?) -> Void

  /// The state of a client (`AvahiClientState`).
  enum ClientState {
    static let running: Int32 = 2
    static let failed: Int32 = 100
    static let connecting: Int32 = 101
  }

  /// The state of a group of entries (`AvahiEntryGroupState`).
  enum GroupState {
    static let collision: Int32 = 3
    static let failed: Int32 = 4
  }

  /// `AvahiAddress`
  struct Address {
    /// 0: IPv4, 1: IPv6.
    var family: Int32
    var bytes: (UInt32, UInt32, UInt32, UInt32)
  }

  static let unspecified: Int32 = -1
  /// Lets a client wait for a daemon that is not running yet (`AVAHI_CLIENT_NO_FAIL`).
  static let noFail: Int32 = 2
  /// Publishes no reverse entry: the address keeps resolving to the machine's own name (`AVAHI_PUBLISH_NO_REVERSE`).
  static let noReverse: Int32 = 16

  let newPoll: @convention(c) () -> OpaquePointer?
  let poll: @convention(c) (OpaquePointer) -> OpaquePointer?
  let startPoll: @convention(c) (OpaquePointer) -> Int32
  let stopPoll: @convention(c) (OpaquePointer) -> Int32
  let freePoll: @convention(c) (OpaquePointer) -> Void
  let lock: @convention(c) (OpaquePointer) -> Void
  let unlock: @convention(c) (OpaquePointer) -> Void
  let newClient:
    @convention(c) (
      OpaquePointer?, Int32, StateCallback, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>
    ) -> OpaquePointer?
  let freeClient: @convention(c) (OpaquePointer) -> Void
  let clientError: @convention(c) (OpaquePointer) -> Int32
  let message: @convention(c) (Int32) -> UnsafePointer<CChar>?
  let newGroup: @convention(c) (OpaquePointer, StateCallback, UnsafeMutableRawPointer?) -> OpaquePointer?
  let freeGroup: @convention(c) (OpaquePointer) -> Int32
  let commit: @convention(c) (OpaquePointer) -> Int32
  let addService:
    @convention(c) (
      OpaquePointer, Int32, Int32, Int32, UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>?,
      UnsafePointer<CChar>, UInt16, OpaquePointer?
    ) -> Int32
  let addAddress: @convention(c) (OpaquePointer, Int32, Int32, Int32, UnsafePointer<CChar>, UnsafeRawPointer) -> Int32

  /// - Throws: `BywayError` if it is not installed.
  init() throws {
    guard let library = dlopen("libavahi-client.so.3", RTLD_NOW | RTLD_LOCAL) else {
      throw BywayError(
        .linkUnavailable, "Avahi's client library is not installed: apt install avahi-daemon libavahi-client3.")
    }
    func function<Function>(_ name: String) throws -> Function {
      guard let address = dlsym(library, name) else {
        throw BywayError(.linkUnavailable, "Avahi's client library has no \(name): it is another version.")
      }
      return unsafeBitCast(address, to: Function.self)
    }
    newPoll = try function("avahi_threaded_poll_new")
    poll = try function("avahi_threaded_poll_get")
    startPoll = try function("avahi_threaded_poll_start")
    stopPoll = try function("avahi_threaded_poll_stop")
    freePoll = try function("avahi_threaded_poll_free")
    lock = try function("avahi_threaded_poll_lock")
    unlock = try function("avahi_threaded_poll_unlock")
    newClient = try function("avahi_client_new")
    freeClient = try function("avahi_client_free")
    clientError = try function("avahi_client_errno")
    message = try function("avahi_strerror")
    newGroup = try function("avahi_entry_group_new")
    freeGroup = try function("avahi_entry_group_free")
    commit = try function("avahi_entry_group_commit")
    addService = try function("avahi_entry_group_add_service_strlst")
    addAddress = try function("avahi_entry_group_add_address")
  }

  func text(of error: Int32) -> String { message(error).map { String(cString: $0) } ?? "error \(error)" }
}
