/// A peer that has dialed a hub, and whose name is not known yet.
protocol HubCandidate: AnyObject {
  /// Closes its connection.
  func close()
}
