// swift run urlsession
//
// An app that uses URLSession reaches a device without a network connection. Here the device is a Swift function behind a
// Unix socket. With another link address it could be behind a serial line, without other changes in this file.

import Byway
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import UnixTransport

@main enum URLSessionExample {
  @Sendable static func device(_ request: Request) async throws -> Response {
    switch (request.head.method, request.head.path) {
    case (.get, "/temperature"):
      return Response(status: .ok, fields: [.contentType: "application/json"], body: Body("{\"celsius\":21.5}"))
    case (.put, "/name"):
      let name = String(buffer: try await request.body.collect(upTo: 100))
      return Response(status: .ok, fields: [.setCookie: "name=\(name)"], body: Body("I am \(name) now."))
    case (.get, "/old"):
      return Response(status: .movedPermanently, fields: [.location: "/temperature"])
    default:
      return Response(status: .notFound, body: Body("There is /temperature to GET, and /name to PUT."))
    }
  }

  static func main() async throws {
    let link = try TransportRegistry([UnixTransport()]).link("unix:/tmp/device-\(UInt32.random(in: 0 ... .max)).sock")
    let gateway = try await Gateway.start(GatewayConfiguration(links: [link], origin: .handler(device)))

    // These three lines are all that an app needs.
    let client = BywayClient(link)
    let bridge = try Bridge([Route(Scope(hosts: ["device.local"]), over: client)])
    let session = URLSession(configuration: .byway(bridge))

    try await show(session, "GET", "http://device.local/temperature")
    try await show(session, "PUT", "http://device.local/name", body: "kitchen")
    try await show(session, "GET", "http://device.local/old")
    try await show(session, "GET", "http://device.local/elsewhere")
    // No route takes this request: it goes over the network as usual, to a port without a listener.
    try await show(session, "GET", "http://127.0.0.1:9/")

    await client.shutDown()
    try await show(session, "GET", "http://device.local/temperature")
    await gateway.stop(within: .seconds(1))
  }

  static func show(_ session: URLSession, _ method: String, _ address: String, body: String? = nil) async throws {
    guard let url = URL(string: address) else { return }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    do {
      let (data, response) = try await session.data(for: request)
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      print("\(method) \(address): \(status) \(String(decoding: data, as: UTF8.self))")
    } catch {
      print("\(method) \(address): \(error.localizedDescription)")
    }
  }
}
