import BywayLibC

/// The files that make a gadget in configfs, and the folder of its function.
struct GadgetLayout: Sendable {
  /// A change of the file system.
  enum Step: Hashable {
    case folder(String)
    case write(String, to: String)
    case link(String, to: String)
  }

  /// The folder of all gadgets.
  var gadgets = "/sys/kernel/config/usb_gadget"
  var functions = "/dev/usb-ffs"
  /// The folder of all controllers.
  var controllers = "/sys/class/udc"
  /// Mounts the FunctionFS of that name; negative on failure, with `errno`. Tests stand for the kernel here.
  var mount: @Sendable (_ name: String, _ folder: String) -> CInt = { BywayLibC.mount($0, $1, "functionfs", 0, nil) }
  var unmount: @Sendable (_ folder: String) -> Void = { _ = umount2($0, CInt(MNT_DETACH)) }

  func gadget(_ name: String) -> String { "\(gadgets)/\(name)" }
  /// The folder where FunctionFS is mounted.
  func function(_ name: String) -> String { "\(functions)/\(name)" }
  /// The file that binds a gadget to a controller.
  func binding(_ name: String) -> String { "\(gadget(name))/UDC" }

  /// The steps that create a gadget, without the mount and the binding.
  func steps(_ settings: GadgetSettings) -> [Step] {
    let root = gadget(settings.name)
    let identity = settings.identity
    var steps: [Step] = [
      .folder(root),
      .write(hexadecimal(identity.vendor), to: "\(root)/idVendor"),
      .write(hexadecimal(identity.product), to: "\(root)/idProduct"),
      .folder("\(root)/strings/0x409"),
      .write("Byway", to: "\(root)/strings/0x409/manufacturer"),
      .write(settings.product, to: "\(root)/strings/0x409/product"),
    ]
    if let serial = identity.serial {
      steps.append(.write(serial, to: "\(root)/strings/0x409/serialnumber"))
    }
    return steps + [
      .folder("\(root)/configs/c.1"),
      .folder("\(root)/functions/ffs.\(settings.name)"),
      .link("\(root)/functions/ffs.\(settings.name)", to: "\(root)/configs/c.1/ffs.\(settings.name)"),
      // Windows asks for its own descriptors with this request.
      .write("1", to: "\(root)/os_desc/use"),
      .write("0xcd", to: "\(root)/os_desc/b_vendor_code"),
      .write("MSFT100", to: "\(root)/os_desc/qw_sign"),
      .link("\(root)/configs/c.1", to: "\(root)/os_desc/c.1"),
      .folder(function(settings.name)),
    ]
  }

  private func hexadecimal(_ number: UInt16) -> String { "0x" + String(number, radix: 16) }
}
