import BywayLibC

/// The files of the kernel in /proc and /sys. A file that is gone, or may not be read, has no content.
package enum KernelFile {
  /// Tables grow with the activity of the machine: connections, processes.
  private static let sizeLimit = 16 << 20

  package static func text(of path: String) -> String? {
    guard let descriptor = try? Descriptor.open(path, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    return (try? Descriptor.read(descriptor, upTo: sizeLimit)).map { String(decoding: $0, as: UTF8.self) }
  }

  package static func lines(of path: String) -> [Substring] {
    text(of: path)?.split(separator: "\n") ?? []
  }

  /// - Returns: Whether the kernel accepted it.
  package static func write(_ text: String, to path: String) -> Bool {
    guard let descriptor = try? Descriptor.open(path, O_WRONLY) else { return false }
    defer { close(descriptor) }
    return (try? Descriptor.write(text, to: descriptor)) != nil
  }
}
