import BywayPrimitives
package import NIOCore

extension Int {
  /// Converts a time of the event loops' clock to the system's: in seconds since 1970.
  package static func secondsSinceEpoch(of moment: NIODeadline) -> Int {
    let elapsed = NIODeadline.now() - moment
    return (WallTime.now() + .nanoseconds(-elapsed.nanoseconds)).seconds
  }
}
