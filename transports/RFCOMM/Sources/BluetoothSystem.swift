import BywayPrimitives
import NIOCore

/// The calls of the system that links over RFCOMM need. Safe on any thread.
protocol BluetoothSystem: Sendable {
  /// Returns the controllers in the order of their numbers.
  func controllers() throws(SystemError) -> [BluetoothController]

  /// Checks that the kernel has RFCOMM, and lets this program use it.
  func check() throws(SystemError)

  /// Connects to a channel of a device. Blocks.
  /// - Parameter local: the address of the controller to use; `.any` leaves the choice to the kernel.
  /// - Returns: a descriptor that does not block.
  func connect(
    to device: BluetoothAddress, channel: UInt8, from local: BluetoothAddress, security: RFCOMMPlace.Security,
    by deadline: NIODeadline
  ) throws(SystemError) -> CInt

  /// Listens on a channel.
  /// - Parameter local: the address of the controller to use; `.any` for all of them.
  /// - Returns: a descriptor that does not block.
  func listen(on channel: UInt8, of local: BluetoothAddress, security: RFCOMMPlace.Security) throws(SystemError) -> CInt

  /// Accepts a connection.
  /// - Returns: a descriptor that does not block, and the address of the device.
  func accept(on listener: CInt) throws(SystemError) -> (descriptor: CInt, device: BluetoothAddress)

  /// Starts a thread, which ends when the work has returned.
  func startThread(_ run: @escaping @Sendable () -> Void) throws(SystemError)
}
