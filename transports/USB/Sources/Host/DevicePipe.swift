import BywayLibC
import BywayPrimitives
import CBywayUSB

/// The bulk endpoints of an interface of a device, through the files of the kernel in /dev/bus/usb (usbdevfs).
final class DevicePipe: BulkPipe, @unchecked Sendable {
  // Sendable: the thread that has opened it gives it to one other thread.
  private let descriptor: CInt
  private let interface: USBInterface
  private let calls: DeviceCalls
  /// The requests of both directions: first those that receive.
  private let requests: UnsafeMutableBufferPointer<usb_request>
  private var isHalted = false

  /// Opens the device and takes the interface.
  /// - Throws: ``USBFailure``.
  init(_ device: USBDevice, _ interface: USBInterface, calls: DeviceCalls = .kernel) throws(USBFailure) {
    self.interface = interface
    self.calls = calls
    let descriptor: CInt
    do {
      descriptor = try Descriptor.open(device.path, O_RDWR)
    } catch {
      throw USBFailure(opening: device, interface, error)
    }
    // The driver of printers would take what the printer says.
    if interface.driver == "usblp" { calls.detachDriver(descriptor, interface.number) }
    do {
      try calls.claim(descriptor, interface.number)
    } catch {
      BywayLibC.close(descriptor)
      throw USBFailure(opening: device, interface, error)
    }
    // A printer may have been left in the middle of an answer: selecting the setting again resets its endpoints.
    if interface.alternate != 0 || interface.kind == .ipp {
      calls.select(descriptor, interface.number, interface.alternate)
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
    guard let first = requests.baseAddress else { return }
    do {
      try calls.submit(descriptor, first + index)
    } catch {
      throw PipeEnd(error)
    }
  }

  func nextCompletion() throws(PipeEnd) -> TransferCompletion? {
    let pointer: UnsafeMutablePointer<usb_request>?
    do {
      pointer = try calls.reap(descriptor)
    } catch {
      if error.code == EAGAIN || error.code == EINTR { return nil }
      throw PipeEnd(error)
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
      for endpoint in [interface.input, interface.output] { calls.clearHalt(descriptor, endpoint) }
    }
    // Releasing the interface ends its requests, and the kernel waits for their end.
    calls.release(descriptor, interface.number)
    BywayLibC.close(descriptor)
  }
}
