import BywayPrimitives

/// The CAN interfaces of this machine.
enum CANInterfaces {
  /// The type of a CAN interface (ARPHRD_CAN).
  private static let kind = "280"

  /// - Returns: the names, sorted.
  static func names(in classes: String = "/sys/class/net") -> [String] {
    ((try? Folder.names(in: classes)) ?? []).filter { name in
      KernelFile.lines(of: "\(classes)/\(name)/type").first.map { $0 == kind } ?? false
    }.sorted()
  }
}
