import BywayLibC
import BywayPrimitives
import CBywayUSB

/// The bulk endpoints of a function in FunctionFS, with asynchronous I/O of the kernel: the files of endpoints cannot be polled.
final class FunctionPipe: BulkPipe, @unchecked Sendable {
  // Sendable: the thread that has opened it gives it to one other thread.
  private let control: FunctionControl
  private let activation: Int
  private let input: CInt
  private let output: CInt
  /// A counter of completed requests, which can be polled.
  private let counter: CInt
  private let context: aio_context_t
  /// The requests of both directions: first those that receive.
  private let requests: UnsafeMutableBufferPointer<iocb>

  init(_ control: FunctionControl, _ folder: String, activation: Int) throws(SystemError) {
    self.control = control
    self.activation = activation
    var opened: [CInt] = []
    var context = aio_context_t()
    do throws(SystemError) {
      // Without O_NONBLOCK, a request would wait for the next computer.
      opened.append(try Descriptor.open("\(folder)/\(FunctionDescriptors.inputFile)", O_RDWR | O_NONBLOCK))
      opened.append(try Descriptor.open("\(folder)/\(FunctionDescriptors.outputFile)", O_RDWR | O_NONBLOCK))
      opened.append(try SystemError.check(usb_counter()))
      guard aio_open(UInt32(2 * TransferPump.depth), &context) == 0 else { throw .last }
    } catch {
      for descriptor in opened { BywayLibC.close(descriptor) }
      throw error
    }
    (input, output, counter) = (opened[0], opened[1], opened[2])
    self.context = context
    requests = .allocate(capacity: 2 * TransferPump.depth)
    requests.initialize(repeating: iocb())
  }

  deinit {
    requests.deallocate()
  }

  var waits: [pollfd] {
    [counter, control.descriptor].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  }

  func receive(into memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    try start(UInt16(IOCB_CMD_PREAD), output, memory, slot)
  }

  func send(_ memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd) {
    try start(UInt16(IOCB_CMD_PWRITE), input, memory, TransferPump.depth + slot)
  }

  private func start(
    _ command: UInt16, _ endpoint: CInt, _ memory: UnsafeMutableRawBufferPointer, _ index: Int
  ) throws(PipeEnd) {
    var request = iocb()
    request.aio_data = UInt64(index)
    request.aio_lio_opcode = command
    request.aio_fildes = UInt32(bitPattern: endpoint)
    request.aio_buf = UInt64(UInt(bitPattern: memory.baseAddress))
    request.aio_nbytes = UInt64(memory.count)
    request.aio_flags = UInt32(IOCB_FLAG_RESFD)
    request.aio_resfd = UInt32(bitPattern: counter)
    requests[index] = request
    guard let first = requests.baseAddress, aio_start(context, first + index) == 1 else { throw PipeEnd(.last) }
  }

  func nextCompletion() throws(PipeEnd) -> TransferCompletion? {
    if let event = try takeEvent() { return try completion(event) }
    // The counter first: a request that completes later is announced again.
    var count: UInt64 = 0
    _ = read(counter, &count, 8)
    guard control.update() == activation else { throw PipeEnd("it was unplugged, or reset by the computer") }
    return try takeEvent().map(completion)
  }

  private func takeEvent() throws(PipeEnd) -> io_event? {
    var event = io_event()
    let count = aio_completed(context, &event)
    if count < 0, errno != EINTR { throw PipeEnd(.last) }
    return count == 1 ? event : nil
  }

  private func completion(_ event: io_event) throws(PipeEnd) -> TransferCompletion {
    // EAGAIN: the endpoint is not enabled any more.
    if event.res == -Int64(EAGAIN) { throw PipeEnd("it was unplugged") }
    if event.res < 0 { throw PipeEnd(SystemError(code: CInt(truncatingIfNeeded: -event.res))) }
    let index = Int(truncatingIfNeeded: event.data)
    return index < TransferPump.depth
      ? .received(slot: index, count: Int(event.res)) : .sent(slot: index - TransferPump.depth)
  }

  func close() {
    _ = aio_close(context)
    for descriptor in [input, output, counter] { BywayLibC.close(descriptor) }
  }
}
