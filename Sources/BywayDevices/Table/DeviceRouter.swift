package import Byway
import NIOCore

/// Sends each exchange to the device of its authority. Lives on the table's event loop.
package final class DeviceRouter: ExchangeHandler {
  private let devices: DeviceTable

  package init(_ devices: DeviceTable) {
    self.devices = devices
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    do throws(BywayError) {
      let device = if let device = request.device { device } else { try devices.device(for: request) }
      return device.begin(request, respondingTo: sink)
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
  }
}
