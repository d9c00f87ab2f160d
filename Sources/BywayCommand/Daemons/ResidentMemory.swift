import Glibc

/// What a daemon does once, when it is ready, to stay small on a device.
enum ResidentMemory {
  /// Lets go of the pages of programs and libraries that only start-up needed: argument parsing, configuration, TLS set-up,
  /// the tables that linking went through.
  ///
  /// They are backed by files and unchanged, so the kernel reads those that are used again from its cache.
  static func releaseStartUp() {
    guard let maps = fopen("/proc/self/smaps", "r") else { return }
    defer { fclose(maps) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    var mapping: Range<UInt>?
    while getline(&line, &capacity, maps) > 0 {
      guard let line else { return }
      let text = String(cString: line)
      if let pages = anonymousPages(text) {
        // Where linking has changed a page, its content is nowhere else.
        guard let unchanged = mapping.take(), pages == 0 else { continue }
        madvise(UnsafeMutableRawPointer(bitPattern: unchanged.lowerBound), unchanged.count, MADV_DONTNEED)
      } else if isHeader(text) {
        mapping = fileMapping(text)
      }
    }
  }

  /// The addresses of a mapping that shows a file and cannot be written to, from the first line that /proc/PID/smaps has of it.
  static func fileMapping(_ header: String) -> Range<UInt>? {
    let columns = header.split(separator: " ", omittingEmptySubsequences: true)
    guard columns.count >= 6, columns[1] == "r-xp" || columns[1] == "r--p", columns[5].hasPrefix("/") else {
      return nil
    }
    let bounds = columns[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
    return bounds[0]..<bounds[1]
  }

  /// What a mapping's line about changed pages says, in KiB.
  static func anonymousPages(_ line: String) -> Int? {
    guard line.hasPrefix("Anonymous:") else { return nil }
    return Int(line.dropFirst("Anonymous:".count).filter(\.isNumber))
  }

  /// The other lines begin with a word and a colon.
  private static func isHeader(_ line: String) -> Bool {
    line.prefix { $0 != " " }.contains("-")
  }
}
