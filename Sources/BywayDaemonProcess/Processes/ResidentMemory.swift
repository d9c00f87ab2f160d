import BywayLibC

/// The release of memory that a daemon needs no longer once it is ready.
enum ResidentMemory {
  /// Releases the pages of programs and libraries that only the start needed: argument parsing, configuration, TLS setup, the
  /// dynamic linker's tables.
  ///
  /// They are unchanged and backed by files, so the kernel reads those that are used again from its cache.
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
        // A page that the linker has changed has no copy elsewhere.
        guard let unchanged = mapping.take(), pages == 0 else { continue }
        madvise(UnsafeMutableRawPointer(bitPattern: unchanged.lowerBound), unchanged.count, MADV_DONTNEED)
      } else if isHeader(text) {
        mapping = fileMapping(text)
      }
    }
  }

  /// Returns the addresses of a read-only mapping of a file, from its first line in /proc/PID/smaps.
  static func fileMapping(_ header: String) -> Range<UInt>? {
    let columns = header.split(separator: " ", omittingEmptySubsequences: true)
    guard columns.count >= 6, columns[1] == "r-xp" || columns[1] == "r--p", columns[5].hasPrefix("/") else {
      return nil
    }
    let bounds = columns[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
    return bounds[0]..<bounds[1]
  }

  /// Returns the size of a mapping's changed pages in KiB, from the line about them.
  static func anonymousPages(_ line: String) -> Int? {
    guard line.hasPrefix("Anonymous:") else { return nil }
    return Int(line.dropFirst("Anonymous:".count).filter(\.isNumber))
  }

  /// Whether this is the first line of a mapping. The others begin with a word and a colon.
  private static func isHeader(_ line: String) -> Bool {
    line.prefix { $0 != " " }.contains("-")
  }
}
