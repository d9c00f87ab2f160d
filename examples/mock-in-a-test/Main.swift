// swift run mock-in-a-test
//
// Tests code that uses a device, without the device. Stubs respond in its place, also slowly or with failures. In a test
// target, the two functions at the end would be tests.

import Byway
import BywayInterceptors
import HTTPTypes
import LoopbackTransport

/// The code under test.
struct Thermometer {
  let client: BywayClient

  /// - Returns: `nil` if the device does not respond.
  func celsius() async throws -> Double? {
    do {
      let response = try await client.get("http://device/temperature")
      guard response.status == .ok else { return nil }
      return Double(String(buffer: try await response.body.collect(upTo: 100)))
    } catch let error as BywayError where error.code == .linkLost {
      return nil
    }
  }
}

@main enum MockInATest {
  static func main() async throws {
    try await readsTheNumber()
    try await survivesALostLink()
  }

  static func readsTheNumber() async throws {
    let stub = Stub(Scope(paths: ["/temperature"]), answer: .fixed(body: Body("21.5")).delayed(by: .milliseconds(50)))
    let celsius = try await thermometer(stub).celsius()
    print("a device that answers:", celsius == 21.5 ? "passed" : "failed")
  }

  static func survivesALostLink() async throws {
    let lost = BywayError(.linkLost, "The cable was pulled.")
    let stub = Stub(answer: .inTurn(.failing(lost), .fixed(body: Body("19.0"))))
    let thermometer = try thermometer(stub)
    let first = try await thermometer.celsius()
    let second = try await thermometer.celsius()
    print("a cable that is pulled:", first == nil && second == 19 ? "passed" : "failed")
  }

  /// The stub responds to every request, so the link is not used and needs no listener.
  private static func thermometer(_ stub: Stub) throws -> Thermometer {
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [stub]
    return Thermometer(
      client: try BywayClient(link: "loopback:nobody", transports: [LoopbackTransport()], configuration: configuration))
  }
}
