// swift run bad-line
//
// A gateway and a client at the two ends of a serial line with one wrong bit in 20,000. The cable is unplugged for a second
// during a response. The line is emulated, between two pseudo-terminals.

import Byway
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import SerialTransport

@main enum BadLine {
  static let log = String(repeating: "everything is as it should be\n", count: 1000)

  static func main() async throws {
    let folder = "/tmp/bad-line-\(UInt32.random(in: 0 ... .max))"
    let line = try PseudoTerminalLine(
      LineConfiguration(baud: 115_200, faults: [BitFlips(rate: 5e-5)]), paths: ("\(folder)-device", "\(folder)-here"))
    defer { line.close() }

    let serial = TransportRegistry([SerialTransport()])
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [try serial.link("serial:\(line.path(of: .a))?baud=115200")],
        origin: .handler { _ in Response(status: .ok, body: Body(log)) }))
    let client = BywayClient(try serial.link("serial:\(line.path(of: .b))?baud=115200"))

    let response = try await client.get("http://device/log")
    line.cut(.lose)
    try await Task.sleep(for: .seconds(1))
    line.restore()
    let body = try await response.body.collect(upTo: 1 << 20)
    print(String(buffer: body) == log ? "all of it" : "something else", "with seed", line.seed)
    print(line.counters(from: .a).flippedBits, "bits were wrong on the way")

    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }
}
