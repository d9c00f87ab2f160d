import BywayLineLayer
import NIOCore

/// The settings of the line layer over a broker.
enum SessionLayer {
  static var configuration: LineLayerConfiguration {
    var configuration = LineLayerConfiguration.defaults
    configuration.largestPayload = 8 << 10
    // It limits what one session leaves in a broker whose reader is slow.
    configuration.window = 256 << 10
    // TCP detects damaged bytes.
    configuration.correction = 0
    return configuration
  }

  static func dialer(at now: NIODeadline) -> LineLayer {
    LineLayer(.dialer, configuration: configuration, at: now.uptimeNanoseconds)
  }

  static func listener(at now: NIODeadline) -> LineLayer {
    LineLayer(
      .listener(incarnation: .random(in: 1 ... .max)), configuration: configuration,
      at: now.uptimeNanoseconds)
  }
}
