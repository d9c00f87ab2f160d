import BywayLineLayer
import Synchronization

/// The state of lines whose session has ended: the listener's incarnation, the error rate, the clock. The next session over the same line
/// begins with it. Safe on any thread.
enum KnownLines {
  private static let limit = 64
  private static let layers = Mutex<[String: LineLayer]>([:])

  /// Returns the state of a line, which the caller brings back after its session.
  static func take(_ address: LinkAddress) -> LineLayer? {
    layers.withLock { $0.removeValue(forKey: address.text) }
  }

  static func remember(_ layer: LineLayer, of address: LinkAddress) {
    layers.withLock { layers in
      if layers.count < limit || layers[address.text] != nil { layers[address.text] = layer }
    }
  }
}
