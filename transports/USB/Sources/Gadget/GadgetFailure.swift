import Byway
import BywayLibC
import BywayPrimitives

/// The reason why the device's end of a cable could not be opened, with a message for the user.
enum GadgetFailure: DeviceFailure {
  case noConfigFS
  /// The kernel has no controller, or none of that name; the others are for the message.
  case noController(String?, [String])
  /// The gadget that has the controller, if it is known.
  case busyController(String, String?)
  case nameInUse(String)
  case noPermission(String)
  /// No FunctionFS is mounted there.
  case noFunction(String)
  /// Another program has the function.
  case functionInUse(String)
  /// No computer has configured the device.
  case noHost(String)
  case closed
  /// The gadget is unusable until its settings are changed.
  case unusable(String, String)

  init(creating name: String, _ error: SystemError) {
    switch error.code {
    case EACCES, EPERM, EROFS: self = .noPermission("gadgets in /sys/kernel/config")
    // The kernel loads the module when the folder of a function is made.
    case ENOENT, ENODEV: self = .unusable(name, "this kernel has no FunctionFS: load the module usb_f_fs")
    default: self = .unusable(name, "\(error)")
    }
  }

  init(opening path: String, _ error: SystemError) {
    switch error.code {
    case ENOENT, ENOTDIR: self = .noFunction(path)
    case EACCES, EPERM: self = .noPermission(path)
    case EBUSY: self = .functionInUse(path)
    default: self = .unusable(path, "\(error)")
    }
  }

  var isAbsence: Bool {
    switch self {
    case .noController, .noFunction, .noHost: true
    case .noConfigFS, .busyController, .nameInUse, .noPermission, .functionInUse, .closed, .unusable: false
    }
  }

  var message: String {
    switch self {
    case .noConfigFS:
      "This machine's kernel offers no USB gadgets: load the module libcomposite, and mount configfs at /sys/kernel/config."
    case .noController(nil, _):
      "This machine has no USB device controller: enable the device mode of a port, for example with dtoverlay=dwc2 on a Raspberry Pi."
    case .noController(let name?, let others):
      "There is no USB device controller \(name): check udc=."
        + (others.isEmpty ? " There are none here." : " There are: \(others.joined(separator: ", ")).")
    case .busyController(let name, let holder):
      "The USB device controller \(name) has another gadget\(holder.map { ", \($0)" } ?? ""): remove that gadget, or write udc= with another "
        + "controller."
    case .nameInUse(let name):
      "The USB gadget \(name) is in use: stop the program that has made it, or write name= with another name."
    case .noPermission(let place):
      "Permission denied on \(place): run this as root, or let the system mount a FunctionFS for this user and write usb-gadget:/PATH."
    case .noFunction(let path):
      "No FunctionFS is mounted at \(path): create the gadget first, and mount its function there."
    case .functionInUse(let path):
      "The function at \(path) is in use by another program: stop that program, or add another function to the gadget."
    case .noHost(let place):
      "No computer uses the \(place): plug in the cable."
    case .closed: "The USB gadget was closed."
    case .unusable(let name, let reason):
      "The USB gadget \(name) cannot be used: \(reason)."
    }
  }

  var fault: LinkFault {
    switch self {
    case .noConfigFS, .noController: .noRoute
    case .busyController, .nameInUse, .functionInUse: .inUse
    case .noPermission: .noPermission
    case .noFunction: .noFile
    case .noHost, .closed: .nobodyListens
    case .unusable: .notADevice
    }
  }
}
