/// A request target, split into path and query: `/big?bytes=10`.
struct DemoTarget {
  let path: Substring
  private let query: Substring

  init(_ target: String) {
    let mark = target.firstIndex(of: "?") ?? target.endIndex
    path = target[..<mark]
    query = target[mark...].dropFirst()
  }

  /// Returns a whole number of at least 0; `nil` if there is none.
  func number(_ name: String) -> Int? {
    for pair in query.split(separator: "&") where pair.hasPrefix("\(name)=") {
      return UInt32(pair.dropFirst(name.count + 1)).map(Int.init)
    }
    return nil
  }

  func milliseconds(_ name: String, upTo limit: Int) -> Int? {
    number(name).map { min($0, limit) }
  }
}
