import ArgumentParser
import BywayLineEmulation

/// A cut as an argument: in `hang-up@3s+5s` the kind, the time, and the duration. Without a duration it is permanent.
struct CutArgument: ExpressibleByArgument, Sendable, Hashable {
  let cut: Cut

  init?(argument: String) {
    let parts = argument.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, let kind = Cut.Kind(rawValue: String(parts[0])) else { return nil }
    let times = parts[1].split(separator: "+", omittingEmptySubsequences: false)
    let spans = times.compactMap { Span(argument: String($0)) }
    guard (1...2).contains(times.count), spans.count == times.count else { return nil }
    cut = Cut(kind, at: spans[0].duration, for: spans.count == 2 ? spans[1].duration : nil)
  }
}
