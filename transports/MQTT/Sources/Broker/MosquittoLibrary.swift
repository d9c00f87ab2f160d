import Byway
import BywayLibC
import CBywayMosquitto

/// The functions of libmosquitto (libmosquitto.so.1) that a client needs.
///
/// The library is loaded with the first link, so a program without such links needs neither it nor OpenSSL.
struct MosquittoLibrary: @unchecked Sendable {
  // Sendable: its functions are constants.
  typealias Client = OpaquePointer
  typealias Context = UnsafeMutableRawPointer
  typealias Text = UnsafePointer<CChar>
  typealias Properties = OpaquePointer
  /// For CONNACK, with a reason code and flags.
  typealias Connected = @convention(c) (Client?, Context?, Int32, Int32, Properties?) -> Void
  /// For DISCONNECT and PUBACK, with one and two numbers.
  typealias Ended = @convention(c) (Client?, Context?, Int32, Properties?) -> Void
  typealias Published = @convention(c) (Client?, Context?, Int32, Int32, Properties?) -> Void
  typealias Subscribed = @convention(c) (Client?, Context?, Int32, Int32, UnsafePointer<Int32>?, Properties?) -> Void
  typealias Received = @convention(c) (Client?, Context?, UnsafePointer<broker_message>?, Properties?) -> Void
  typealias Logged = @convention(c) (Client?, Context?, Int32, Text?) -> Void
  typealias Passphrase = @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, Context?) -> Int32

  let new: @convention(c) (Text?, Bool, Context?) -> Client?
  let destroy: @convention(c) (Client) -> Void
  let setOption: @convention(c) (Client, Int32, Int32) -> Int32
  let setLogin: @convention(c) (Client, Text?, Text?) -> Int32
  let setTLS: @convention(c) (Client, Text?, Text?, Text?, Text?, Passphrase?) -> Int32
  let setWill: @convention(c) (Client, Text, Int32, UnsafeRawPointer?, Int32, Bool, Properties?) -> Int32
  let connect: @convention(c) (Client, Text, Int32, Int32, Text?, Properties?) -> Int32
  let disconnect: @convention(c) (Client, Int32, Properties?) -> Int32
  let publish:
    @convention(c) (
      Client, UnsafeMutablePointer<Int32>?, Text, Int32, UnsafeRawPointer?, Int32, Bool, Properties?
    ) -> Int32
  let subscribe: @convention(c) (Client, UnsafeMutablePointer<Int32>?, Text, Int32, Int32, Properties?) -> Int32
  let socket: @convention(c) (Client) -> Int32
  let wantsToWrite: @convention(c) (Client) -> Bool
  let read: @convention(c) (Client, Int32) -> Int32
  let write: @convention(c) (Client, Int32) -> Int32
  var keepUp: @convention(c) (Client) -> Int32
  let addNumber: @convention(c) (UnsafeMutablePointer<Properties?>, Int32, UInt32) -> Int32
  let readNumber: @convention(c) (Properties?, Int32, UnsafeMutablePointer<UInt32>, Bool) -> Properties?
  let freeProperties: @convention(c) (UnsafeMutablePointer<Properties?>) -> Void
  let onConnected: @convention(c) (Client, Connected) -> Void
  let onEnded: @convention(c) (Client, Ended) -> Void
  let onPublished: @convention(c) (Client, Published) -> Void
  let onSubscribed: @convention(c) (Client, Subscribed) -> Void
  let onReceived: @convention(c) (Client, Received) -> Void
  let onLogged: @convention(c) (Client, Logged) -> Void
  private let errorText: @convention(c) (Int32) -> Text?
  private let reasonText: @convention(c) (Int32) -> Text?

  private static let loaded = Result { try MosquittoLibrary("libmosquitto.so.1") }

  /// Loads the library once for the process.
  /// - Throws: `BywayError` if it is not installed.
  static func shared() throws -> MosquittoLibrary { try loaded.get() }

  init(_ name: String) throws {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
      throw BywayError(
        .linkUnavailable, "MQTT links need the library libmosquitto, which is missing: apt install libmosquitto1.",
        processing: .none)
    }
    func function<Function>(_ name: String) throws -> Function {
      guard let address = dlsym(library, name) else {
        throw BywayError(
          .linkUnavailable, "The installed libmosquitto has no \(name): install version 2 or later.", processing: .none)
      }
      return unsafeBitCast(address, to: Function.self)
    }
    // OpenSSL must not free its tables at exit (OPENSSL_INIT_NO_ATEXIT), because connections may still use them.
    if let address = dlsym(library, "OPENSSL_init_crypto") {
      typealias Initialize = @convention(c) (UInt64, UnsafeRawPointer?) -> Int32
      _ = unsafeBitCast(address, to: Initialize.self)(0x0008_0000, nil)
    }
    let initialize: @convention(c) () -> Int32 = try function("mosquitto_lib_init")
    _ = initialize()
    new = try function("mosquitto_new")
    destroy = try function("mosquitto_destroy")
    setOption = try function("mosquitto_int_option")
    setLogin = try function("mosquitto_username_pw_set")
    setTLS = try function("mosquitto_tls_set")
    setWill = try function("mosquitto_will_set_v5")
    connect = try function("mosquitto_connect_bind_v5")
    disconnect = try function("mosquitto_disconnect_v5")
    publish = try function("mosquitto_publish_v5")
    subscribe = try function("mosquitto_subscribe_v5")
    socket = try function("mosquitto_socket")
    wantsToWrite = try function("mosquitto_want_write")
    read = try function("mosquitto_loop_read")
    write = try function("mosquitto_loop_write")
    keepUp = try function("mosquitto_loop_misc")
    addNumber = try function("mosquitto_property_add_int32")
    readNumber = try function("mosquitto_property_read_int32")
    freeProperties = try function("mosquitto_property_free_all")
    onConnected = try function("mosquitto_connect_v5_callback_set")
    onEnded = try function("mosquitto_disconnect_v5_callback_set")
    onPublished = try function("mosquitto_publish_v5_callback_set")
    onSubscribed = try function("mosquitto_subscribe_v5_callback_set")
    onReceived = try function("mosquitto_message_v5_callback_set")
    onLogged = try function("mosquitto_log_callback_set")
    errorText = try function("mosquitto_strerror")
    reasonText = try function("mosquitto_reason_string")
  }

  /// Returns the library's words for an error, without the full stop.
  func text(of error: Int32) -> String { Self.words(errorText(error)) ?? "error \(error)" }

  /// Returns the library's words for a reason code of MQTT 5.
  func text(ofReason code: Int32) -> String { Self.words(reasonText(code)) ?? "reason \(code)" }

  private static func words(_ text: Text?) -> String? {
    guard let text else { return nil }
    let words = String(cString: text)
    return words.hasSuffix(".") ? String(words.dropLast()) : words
  }
}
