/// An event of a function of a gadget, as the kernel reports it (`struct usb_functionfs_event`).
enum FunctionEvent: Hashable {
  case bound, unbound
  /// The computer has selected the configuration: the endpoints can be used.
  case enabled
  /// The cable is unplugged, or the computer has reset the device.
  case disabled
  /// A control request, which is for the device to answer.
  case request(isToHost: Bool)
  case suspended, resumed

  static let size = 12

  /// - Returns: the events, without those of kinds that are not known.
  static func parse(_ bytes: some Collection<UInt8>) -> [FunctionEvent] {
    var events: [FunctionEvent] = []
    var rest = Array(bytes)[...]
    while rest.count >= size {
      // The first eight bytes are a control request.
      if let event = FunctionEvent(rest[rest.startIndex + 8], request: rest[rest.startIndex]) { events.append(event) }
      rest = rest.dropFirst(size)
    }
    return events
  }

  private init?(_ kind: UInt8, request: UInt8) {
    switch kind {
    case 0: self = .bound
    case 1: self = .unbound
    case 2: self = .enabled
    case 3: self = .disabled
    case 4: self = .request(isToHost: request & 0x80 != 0)
    case 5: self = .suspended
    case 6: self = .resumed
    default: return nil
    }
  }
}
