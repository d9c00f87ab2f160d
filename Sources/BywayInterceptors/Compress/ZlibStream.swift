import CBywayZlib
import NIOCore

/// The state of a zlib stream at a constant address, as zlib demands.
final class ZlibStream {
  let pointer: z_streamp

  init() {
    pointer = .allocate(capacity: 1)
    pointer.initialize(to: z_stream())
  }

  deinit {
    pointer.deallocate()
  }

  /// Offers input.
  /// - Returns: The number of bytes that were taken.
  func reading(_ input: UnsafeRawBufferPointer, _ body: () throws -> Void) rethrows -> Int {
    pointer.pointee.next_in = input.bindMemory(to: Bytef.self).baseAddress
    pointer.pointee.avail_in = uInt(clamping: input.count)
    let offered = pointer.pointee.avail_in
    defer {
      pointer.pointee.next_in = nil
      pointer.pointee.avail_in = 0
    }
    try body()
    return Int(offered - pointer.pointee.avail_in)
  }

  /// Offers space for output after the existing bytes.
  /// - Returns: The result of `body`, and whether it has filled the space.
  func writing(into result: inout ByteBuffer, _ body: (z_streamp) -> CInt) -> (code: CInt, isFull: Bool) {
    var code = Z_OK
    var isFull = false
    result.writeWithUnsafeMutableBytes(minimumWritableBytes: 4096) { room in
      pointer.pointee.next_out = room.bindMemory(to: Bytef.self).baseAddress
      pointer.pointee.avail_out = uInt(clamping: room.count)
      let offered = pointer.pointee.avail_out
      code = body(pointer)
      isFull = pointer.pointee.avail_out == 0
      pointer.pointee.next_out = nil
      return Int(offered - pointer.pointee.avail_out)
    }
    return (code, isFull)
  }
}
