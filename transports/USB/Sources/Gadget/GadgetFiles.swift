import BywayLibC
import BywayPrimitives

/// Creates and removes the files of a gadget.
struct GadgetFiles: Sendable {
  let settings: GadgetSettings
  var layout = GadgetLayout()

  private var root: String { layout.gadget(settings.name) }
  var function: String { layout.function(settings.name) }

  /// Creates the gadget without a binding. Removes one that an earlier run has left.
  /// - Throws: ``GadgetFailure``.
  func create() throws(GadgetFailure) {
    guard access(layout.gadgets, F_OK) == 0 else { throw .noConfigFS }
    _ = try freeController()
    if access(root, F_OK) == 0 {
      guard Self.line(layout.binding(settings.name)) == nil else { throw .nameInUse(settings.name) }
      remove()
    }
    do throws(SystemError) {
      try SystemError.check(Self.makeFolder(layout.functions))
      for step in layout.steps(settings) { try perform(step) }
      try SystemError.check(layout.mount(settings.name, function))
    } catch {
      remove()
      throw GadgetFailure(creating: settings.name, error)
    }
  }

  /// Connects the gadget to the cable.
  func bind() throws(GadgetFailure) {
    let controller = try freeController()
    do throws(SystemError) {
      try perform(.write(controller, to: layout.binding(settings.name)))
    } catch {
      throw error.code == EBUSY ? .busyController(controller, nil) : GadgetFailure(creating: settings.name, error)
    }
  }

  /// Removes all files of the gadget, as far as they exist.
  func remove() {
    try? perform(.write("\n", to: layout.binding(settings.name)))
    layout.unmount(function)
    for step in layout.steps(settings).reversed() {
      switch step {
      case .folder(let path): rmdir(path)
      case .link(_, let path): unlink(path)
      case .write: break
      }
    }
  }

  /// Returns the controller that the settings name, or the first one without a gadget.
  private func freeController() throws(GadgetFailure) -> String {
    let all = ((try? Folder.names(in: layout.controllers)) ?? []).sorted()
    let candidates = all.filter { $0 == settings.controller ?? $0 }
    guard let first = candidates.first else { throw .noController(settings.controller, all) }
    // A gadget of configfs has the name of its folder in UDC, and an older one its name here.
    let free = candidates.first { name in
      Self.line("\(layout.controllers)/\(name)/function") == nil && holder(of: name) == nil
    }
    guard let free else { throw .busyController(first, holder(of: first)) }
    return free
  }

  /// Returns the gadget that a controller is bound to.
  private func holder(of controller: String) -> String? {
    let gadgets = (try? Folder.names(in: layout.gadgets)) ?? []
    return gadgets.sorted().first { Self.line(layout.binding($0)) == controller }
  }

  private func perform(_ step: GadgetLayout.Step) throws(SystemError) {
    switch step {
    case .folder(let path): try SystemError.check(Self.makeFolder(path))
    case .link(let target, let path): try SystemError.check(symlink(target, path))
    case .write(let text, let path):
      let descriptor = try Descriptor.open(path, O_WRONLY)
      defer { close(descriptor) }
      try Descriptor.write(text, to: descriptor)
    }
  }

  private static func makeFolder(_ path: String) -> CInt {
    let result = mkdir(path, 0o755)
    return result < 0 && errno == EEXIST ? 0 : result
  }

  /// The first line of a file of the kernel; `nil` if it is empty.
  private static func line(_ path: String) -> String? {
    KernelFile.lines(of: path).first.map { String($0) }
  }
}
