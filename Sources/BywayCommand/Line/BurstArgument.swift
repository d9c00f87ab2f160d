import ArgumentParser
import BywayLineEmulation

/// A burst fault as an argument: with `50/10000@0.1`, 50 bytes in a row of 10,000 have a bit error rate of 0.1, on average.
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
