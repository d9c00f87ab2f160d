import BywayLibC

/// The system calls on sockets of families that SwiftNIO does not know, so that tests can stand for the kernel.
///
/// Addresses and values are bytes in the layout of the kernel's structures.
package struct SocketCalls: Sendable {
  package var make: @Sendable (_ family: CInt, _ kind: CInt, _ kindOfProtocol: CInt) throws(SystemError) -> CInt
  package var setOption:
    @Sendable (_ descriptor: CInt, _ level: CInt, _ name: CInt, _ value: [UInt8]) throws(SystemError) -> Void
  package var bind: @Sendable (_ descriptor: CInt, _ address: [UInt8]) throws(SystemError) -> Void
  /// Starts to connect. Throws `EINPROGRESS` if that continues.
  package var connect: @Sendable (_ descriptor: CInt, _ address: [UInt8]) throws(SystemError) -> Void
  package var listen: @Sendable (_ descriptor: CInt, _ backlog: CInt) throws(SystemError) -> Void
  /// Accepts a connection. The given address has the size of the one that is returned.
  package var accept:
    @Sendable (_ descriptor: CInt, _ address: [UInt8]) throws(SystemError) -> (descriptor: CInt, address: [UInt8])
  /// Throws the pending error of a socket (SO_ERROR).
  package var checkError: @Sendable (_ descriptor: CInt) throws(SystemError) -> Void
  /// Makes a request to the driver (ioctl(2)), and returns its answer in the place of the value.
  package var control: @Sendable (_ descriptor: CInt, _ request: UInt, _ value: [UInt8]) throws(SystemError) -> [UInt8]

  package static let kernel = SocketCalls(
    make: { (family, kind, kindOfProtocol) throws(SystemError) in
      try SystemError.check(socket(family, kind, kindOfProtocol))
    },
    setOption: { (descriptor, level, name, value) throws(SystemError) in
      try SystemError.check(setsockopt(descriptor, level, name, value, socklen_t(value.count)))
    },
    bind: { (descriptor, address) throws(SystemError) in
      try SystemError.check(with(address) { BywayLibC.bind(descriptor, $0, $1) })
    },
    connect: { (descriptor, address) throws(SystemError) in
      try SystemError.check(with(address) { BywayLibC.connect(descriptor, $0, $1) })
    },
    listen: { (descriptor, backlog) throws(SystemError) in
      try SystemError.check(BywayLibC.listen(descriptor, backlog))
    },
    accept: { (descriptor, address) throws(SystemError) in
      var (address, size) = (address, socklen_t(address.count))
      let accepted = address.withUnsafeMutableBytes { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { BywayLibC.accept(descriptor, $0.baseAddress, &size) }
      }
      return (try SystemError.check(accepted), address)
    },
    checkError: { (descriptor) throws(SystemError) in
      let error = try SystemError.pending(on: descriptor)
      if error.code != 0 { throw error }
    },
    control: { (descriptor, request, value) throws(SystemError) in
      var value = value
      try SystemError.check(ioctl(descriptor, request, &value))
      return value
    })

  private static func with(_ address: [UInt8], _ body: (UnsafePointer<sockaddr>?, socklen_t) -> CInt) -> CInt {
    address.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress, socklen_t(bytes.count)) }
    }
  }
}
