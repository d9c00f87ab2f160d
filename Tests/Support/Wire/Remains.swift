import Foundation
package import NIOCore
import NIOPosix
import TestTools
import Testing

/// A check for leaks: provides a test's event loops and observer, and finds channels, timers and unfinished exchanges that
/// are left on them at the test's end.
///
///     let remains = Remains()
///     configuration.observers = [remains.ledger]
///     let gateway = try await Gateway.start(configuration, group: remains.loops)
///     …
///     await gateway.stop(within: .zero)
///     await remains.expectNone()
package final class Remains: Sendable {
  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
  package let ledger = ExchangeLedger()
  /// The number of descriptors that selectors register for their own wake-up.
  private let usualDescriptors: Int

  package init() {
    usualDescriptors = Self.registeredDescriptors(with: group)
  }

  deinit {
    group.shutdownGracefully { _ in }
  }

  /// Event loops that no other test uses.
  package var loops: any EventLoopGroup { group }

  /// Fails the test if anything is left a moment after its fixture has stopped.
  package func expectNone() async {
    let isGone = try? await eventually(within: .seconds(5)) { left.isEmpty }
    if isGone != true { Issue.record("Left behind: \(left.joined(separator: "; "))") }
  }

  private var left: [String] {
    let channels = Self.registeredDescriptors(with: group) - usualDescriptors
    let timers = group.makeIterator().compactMap(Self.timers)
    var left: [String] = []
    if channels > 0 { left.append("\(channels) channels") }
    for timers in timers where timers.count > 0 { left.append("\(timers.count) timers: \(timers.text)") }
    let exchanges = ledger.counts
    if exchanges.begun != exchanges.ended {
      left.append("\(exchanges.begun) exchanges have begun, and \(exchanges.ended) have ended")
    }
    if exchanges.sent != exchanges.endedSent {
      left.append("\(exchanges.sent) exchanges were sent, and \(exchanges.endedSent) of those have ended")
    }
    return left
  }

  // MARK: Event loop internals

  /// Returns the number of descriptors registered with the selectors (proc_pid_fdinfo(5)).
  private static func registeredDescriptors(with loops: MultiThreadedEventLoopGroup) -> Int {
    loops.makeIterator().reduce(0) { sum, loop in
      // SelectableEventLoop { selector = Selector { descriptor = 12 }, scheduledTasks = PriorityQueue(count: 0): [], …
      guard let descriptor = String(reflecting: loop).firstMatch(of: #/descriptor = (\d+)/#)?.1,
        let facts = try? String(contentsOfFile: "/proc/self/fdinfo/\(descriptor)", encoding: .utf8)
      else {
        Issue.record("The description of an event loop lacks its selector: \(String(reflecting: loop))")
        return sum
      }
      return sum + facts.split(separator: "\n").count { $0.hasPrefix("tfd:") }
    }
  }

  private static func timers(of loop: any EventLoop) -> (count: Int, text: String)? {
    let text = String(reflecting: loop)
    guard let match = text.firstMatch(of: #/scheduledTasks = PriorityQueue\(count: (\d+)\): (.*), thread =/#),
      let count = Int(match.1)
    else {
      Issue.record("The description of an event loop lacks its timers: \(text)")
      return nil
    }
    return (count, String(match.2))
  }
}
