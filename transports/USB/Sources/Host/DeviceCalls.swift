import BywayLibC
import BywayPrimitives
import CBywayUSB

/// The calls on the file of a device (usbdevfs), so that tests can stand for the kernel.
struct DeviceCalls: Sendable {
  typealias Request = UnsafeMutablePointer<usb_request>

  /// Takes an interface from its driver.
  var detachDriver: @Sendable (_ descriptor: CInt, _ interface: UInt8) -> Void
  var claim: @Sendable (_ descriptor: CInt, _ interface: UInt8) throws(SystemError) -> Void
  /// Selects a setting of an interface, which resets its endpoints.
  var select: @Sendable (_ descriptor: CInt, _ interface: UInt8, _ alternate: UInt8) -> Void
  var submit: @Sendable (_ descriptor: CInt, Request) throws(SystemError) -> Void
  /// Returns a completed request without waiting for one; throws `EAGAIN` if none is complete.
  var reap: @Sendable (_ descriptor: CInt) throws(SystemError) -> Request?
  var clearHalt: @Sendable (_ descriptor: CInt, _ endpoint: UInt8) -> Void
  /// Gives an interface back, and ends its requests.
  var release: @Sendable (_ descriptor: CInt, _ interface: UInt8) -> Void

  static let kernel = DeviceCalls(
    detachDriver: { _ = usb_detach_driver($0, CInt($1)) },
    claim: { (descriptor, interface) throws(SystemError) in
      try SystemError.check(usb_claim(descriptor, UInt32(interface)))
    },
    select: { _ = usb_set_interface($0, UInt32($1), UInt32($2)) },
    submit: { (descriptor, request) throws(SystemError) in try SystemError.check(usb_submit(descriptor, request)) },
    reap: { (descriptor) throws(SystemError) in
      var request: Request?
      try SystemError.check(usb_reap(descriptor, &request))
      return request
    },
    clearHalt: { _ = usb_clear_halt($0, UInt32($1)) },
    release: { _ = usb_release($0, UInt32($1)) })
}
