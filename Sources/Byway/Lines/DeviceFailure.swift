/// The reason why the device of a line could not be opened, with a message for the user.
package protocol DeviceFailure: Error {
  /// Whether the device may appear later, so that a listener waits for it.
  var isAbsence: Bool { get }
  var message: String { get }
}
