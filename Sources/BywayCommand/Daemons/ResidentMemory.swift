import Glibc

/// What a daemon does once, when it is ready, to stay small on a device.
enum ResidentMemory {
  /// Lets go of the pages of program text that only start-up needed: argument parsing, configuration, TLS set-up.
  ///
  /// They are clean and backed by the file, so the kernel reads those that are used again from its cache.
  static func releaseStartUp() {
    guard let maps = fopen("/proc/self/maps", "r") else { return }
    defer { fclose(maps) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, maps) > 0 {
      if let line, let text = textMapping(String(cString: line)) {
        madvise(UnsafeMutableRawPointer(bitPattern: text.lowerBound), text.count, MADV_DONTNEED)
      }
    }
  }

  /// The addresses of a line of /proc/PID/maps that maps a file's code, which is never written to.
  static func textMapping(_ line: String) -> Range<UInt>? {
    let columns = line.split(separator: " ", omittingEmptySubsequences: true)
    guard columns.count >= 6, columns[1] == "r-xp", columns[5].hasPrefix("/") else { return nil }
    let bounds = columns[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
    return bounds[0]..<bounds[1]
  }
}
