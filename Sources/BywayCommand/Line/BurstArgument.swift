import ArgumentParser
import LineEmulation

/// `50/10000@0.1`: of 10,000 bytes, 50 in a row have a bit error rate of 0.1, on average.
struct BurstArgument: ExpressibleByArgument, Sendable {
  let fault: GilbertElliott

  init?(argument: String) {
    let parts = argument.split(separator: "@", omittingEmptySubsequences: false)
    let lengths = parts[0].split(separator: "/", omittingEmptySubsequences: false).compactMap { Double($0) }
    guard parts.count == 2, lengths.count == 2, let rate = Share(argument: String(parts[1])) else { return nil }
    fault = GilbertElliott(
      good: .init(bitErrorRate: 0, meanLength: lengths[1] - lengths[0]),
      bad: .init(bitErrorRate: rate.value, meanLength: lengths[0]))
  }
}
