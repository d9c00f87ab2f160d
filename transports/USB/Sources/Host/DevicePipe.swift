import BywayLibC
import BywayPrimitives
import CBywayUSB

/// The bulk endpoints of an interface of a device, through the files of the kernel in /dev/bus/usb (usbdevfs).
final class DevicePipe: BulkPipe, @unchecked Sendable {
  // Sendable: the thread that has opened it gives it to one other thread.
  private let descriptor: CInt
  private let interface: USBInterface
  /// The requests of both directions: first those that receive.
  private let requests: UnsafeMutableBufferPointer<usb_request>
  private var isHalted = false

  /// Opens the device and takes the interface.
  /// - Throws: ``USBFailure``.
  init(_ device: USBDevice, _ interface: USBInterface) throws(USBFailure) {
    self.interface = interface
    let descriptor: CInt
    do {
      descriptor = try Descriptor.open(device.path, O_RDWR)
    } catch {
      throw USBFailure(opening: device, interface, error)
    }
    // The driver of printers would take what the printer says.
    if interface.driver == "usblp" { _ = usb_detach_driver(descriptor, CInt(interface.number)) }
    guard usb_claim(descriptor, UInt32(interface.number)) == 0 else {
      let error = SystemError.last
      BywayLibC.close(descriptor)
      throw USBFailure(opening: device, interface, error)
    }
    // A printer may have been left in the middle of an answer: selecting the setting again resets its endpoints.
    if interface.alternate != 0 || interface.kind == .ipp {
      _ = usb_set_interface(descriptor, UInt32(interface.number), UInt32(interface.alternate))
    }
    self.descriptor = descriptor
    requests = .allocate(capacity: 2 * TransferPump.depth)
    requests.initialize(repeating: usb_request())
  }

  deinit {
    requests.deallocate()
  }

  /// The kernel announces completed requests as room for output.
  var waits: [pollfd] { [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)] }

  func receive(into memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    try submit(memory, slot, interface.input)
  }

  func send(_ memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    try submit(memory, TransferPump.depth + slot, interface.output)
  }

  private func submit(_ memory: UnsafeMutableRawBufferPointer, _ index: Int, _ endpoint: UInt8) throws(PipeEnd) {
    var request = usb_request()
    request.type = UInt8(USB_REQUEST_BULK)
    request.endpoint = endpoint
    request.buffer = memory.baseAddress
    request.length = CInt(memory.count)
    requests[index] = request
    let result = usb_submit(descriptor, requests.baseAddress.map { $0 + index })
    guard result == 0 else { throw PipeEnd(SystemError.last) }
  }

  func nextCompletion() throws(PipeEnd) -> TransferCompletion? {
    var pointer: UnsafeMutablePointer<usb_request>?
    guard usb_reap(descriptor, &pointer) == 0 else {
      if errno == EAGAIN || errno == EINTR { return nil }
      throw PipeEnd(SystemError.last)
    }
    guard let pointer, let first = requests.baseAddress else { return nil }
    let request = pointer.pointee
    guard request.status == 0 else {
      isHalted = request.status == -EPIPE
      throw PipeEnd(SystemError(code: -request.status))
    }
    let index = pointer - first
    return index < TransferPump.depth
      ? .received(slot: index, count: Int(request.transferred)) : .sent(slot: index - TransferPump.depth)
  }

  func close() {
    if isHalted {
      for endpoint in [interface.input, interface.output] { _ = usb_clear_halt(descriptor, UInt32(endpoint)) }
    }
    // Releasing the interface ends its requests, and the kernel waits for their end.
    _ = usb_release(descriptor, UInt32(interface.number))
    BywayLibC.close(descriptor)
  }
}
