import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import SerialTransport
import UnixTransport

@main enum App {
  static func main() async throws {
    // The link is the first argument, and the path the second one.
    let client = try BywayClient(link: CommandLine.arguments[1], transports: [UnixTransport(), SerialTransport()])
    let bridge = try Bridge([Route(Scope(hosts: ["device.local"]), over: client)])
    let session = URLSession(configuration: .byway(bridge))

    // From here on, it is the code of the iOS app.
    guard let url = URL(string: "http://device.local\(CommandLine.arguments[2])") else { return }
    let (data, response) = try await session.data(from: url)
    print((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))

    await client.shutDown()
  }
}
