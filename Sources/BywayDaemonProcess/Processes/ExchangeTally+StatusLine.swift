package import Byway

extension ExchangeTally {
  /// Returns the state of a daemon in one line, for its service manager.
  package func statusLine(linksUp: Int, of links: Int) -> String {
    let (running, done) = (runningCount, doneCount)
    let count = running + done + failedCounts.values.reduce(0, +)
    return "\(linksUp) of \(links) links up, \(count) requests, \(running) running"
  }
}
