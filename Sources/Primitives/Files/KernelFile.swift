import Glibc

/// What the kernel says in the files of /proc and /sys; nothing where they may not be read, or are gone.
package enum KernelFile {
  /// Tables grow with what the machine does: connections, processes.
  private static let sizeLimit = 16 << 20

  package static func text(of path: String) -> String? {
    guard let descriptor = try? Descriptor.open(path, O_RDONLY) else { return nil }
    defer { close(descriptor) }
    return (try? Descriptor.read(descriptor, upTo: sizeLimit)).map { String(decoding: $0, as: UTF8.self) }
  }

  package static func lines(of path: String) -> [Substring] {
    text(of: path)?.split(separator: "\n") ?? []
  }

  /// - Returns: whether the kernel took it.
  package static func write(_ text: String, to path: String) -> Bool {
    guard let descriptor = try? Descriptor.open(path, O_WRONLY) else { return false }
    defer { close(descriptor) }
    return (try? Descriptor.write(text, to: descriptor)) != nil
  }
}
