import Byway
import BywayLibC
import BywayPrimitives

/// A socket of Linux for ISO-TP, which cuts messages into CAN frames, joins them, and paces their sender by flow control frames
/// (Documentation/networking/iso15765-2.rst of the kernel).
enum ISOTPSocket {
  /// The most bytes of a message whose length has 12 bits. More needs a later version of ISO-TP at the other end.
  static let largestMessage = 4095
  /// Errors that lose one message: no flow control frame from the receiver, frames that are late, missing or wrong, no room at the receiver.
  static let losses: Set<CInt> = [ECOMM, ETIMEDOUT, EILSEQ, EMSGSIZE, EBADMSG, EPROTO]

  // Values of the kernel's headers that Swift does not import.
  private static let family: CInt = 29  // AF_CAN
  private static let isoTP: CInt = 6  // CAN_ISOTP
  private static let level: CInt = 106  // SOL_CAN_ISOTP
  private static let frameOptions: CInt = 5  // CAN_ISOTP_LL_OPTS

  /// The layout of `struct sockaddr_can`.
  struct Address {
    var family = UInt16(ISOTPSocket.family)
    var padding: UInt16 = 0
    var interface: Int32
    var received: UInt32
    var transmitted: UInt32
    /// The rest is for another protocol.
    var unused: UInt64 = 0

    init(interface: Int32, _ address: CANAddress) {
      self.interface = interface
      received = address.received.number
      transmitted = address.transmitted.number
    }
  }

  /// The layout of `struct can_isotp_ll_options`.
  struct FrameOptions {
    var frameSize: UInt8
    var payload: UInt8
    var flags: UInt8

    /// Frames of 64 bytes with the higher bit rate in their payload (CANFD_MTU, CANFD_BRS).
    static let fd = FrameOptions(frameSize: 72, payload: 64, flags: 1)
  }

  /// Returns the medium of an open socket.
  static func medium(_ descriptor: CInt, name: String) -> LineMedium {
    LineMedium(descriptor, .messages(limit: largestMessage, loss: losses), name: name)
  }

  /// Opens a socket that does not block.
  /// - Throws: ``CANFailure``.
  static func open(_ address: CANAddress, calls: SocketCalls) throws(CANFailure) -> CInt {
    let index = if_nametoindex(address.interface)
    let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    do throws(SystemError) {
      let descriptor = try calls.make(family, kind, isoTP)
      do throws(SystemError) {
        // After the socket, so that a kernel without CAN is the reason that users see.
        guard index > 0 else { throw SystemError(code: ENODEV) }
        if address.isFD {
          try calls.setOption(descriptor, level, frameOptions, withUnsafeBytes(of: FrameOptions.fd) { Array($0) })
        }
        try calls.bind(descriptor, withUnsafeBytes(of: Address(interface: Int32(index), address)) { Array($0) })
        // The kernel accepts an interface that is down, and reports that as an error of the socket.
        try calls.checkError(descriptor)
      } catch {
        close(descriptor)
        throw error
      }
      return descriptor
    } catch {
      throw CANFailure(opening: address, error)
    }
  }
}
