import BywayLibC
import BywayPrimitives

/// The two bulk endpoints of an interface, one for each direction. One thread at a time uses them.
///
/// Transfers of a direction complete in the order in which they were started.
protocol BulkPipe: AnyObject, Sendable {
  /// The descriptors and events that announce a completed transfer, or the end.
  var waits: [pollfd] { get }

  /// Starts to receive one transfer into memory that stays valid until ``close()``.
  func receive(into memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd)

  /// Starts to send one transfer from memory that stays valid until it is complete.
  func send(_ memory: UnsafeMutableRawBufferPointer, slot: Int) throws(PipeEnd)

  /// Returns the next completed transfer; `nil` if none is complete.
  /// - Throws: ``PipeEnd`` if the cable is unplugged, or the other side has ended the interface.
  func nextCompletion() throws(PipeEnd) -> TransferCompletion?

  /// Cancels all transfers, waits until no memory of them is in use, and releases the interface.
  func close()
}

/// A transfer that is complete.
enum TransferCompletion: Hashable {
  case received(slot: Int, count: Int)
  case sent(slot: Int)
}

/// Why a pipe carries no more transfers, as text for logs.
struct PipeEnd: Error, Hashable {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }

  init(_ error: SystemError) {
    switch error.code {
    case ESHUTDOWN, ENODEV, ENOENT: self.init("it was unplugged")
    case EPIPE: self.init("the other end has halted an endpoint")
    case EOVERFLOW: self.init("a transfer is longer than \(TransferPump.size) bytes")
    default: self.init("\(error)")
    }
  }
}
