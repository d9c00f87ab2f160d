import Byway
import BywayTLS
import Foundation
import HTTPTypes
import NIOCore
import TestPeers
import TestTools
import Testing

/// https from a client to an nginx with a private authority, through the link.
@Suite(.serialized, .timeLimit(.minutes(2)), .cleansUp) struct EndToEndTLSTests {
  @Test(
    "a site of a private authority is refused until the authority is trusted for its host", arguments: [true, false])
  func trust(_ isHTTP2: Bool) async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), http2: isHTTP2, tls: ca.server)
    let url = "https://\(nginx.endpoint)/hello"

    let unknownPeer = try await HTTPSRig(allowing: ["\(nginx.endpoint)"])
    let refused = await unknownPeer.failure(url)
    #expect(refused?.code == .originUntrusted)
    #expect(refused?.message.contains("an authority that this machine trusts") == true, "\(refused as Any)")
    #expect(refused?.message.contains("add an entry for 127.0.0.1 to the ServerTrust") == true)
    await unknownPeer.stop()

    let elsewhere = try await HTTPSRig(.trusting(ca.authority, for: "localhost"), allowing: ["\(nginx.endpoint)"])
    #expect(await elsewhere.failure(url)?.code == .originUntrusted)
    await elsewhere.stop()

    let friend = try await HTTPSRig(.trusting(ca.authority), allowing: ["\(nginx.endpoint)"])
    for _ in 0..<3 { #expect(try await friend.get(url) == "hello, byway\n") }
    await friend.stop()
  }

  @Test("a forbidden target is reported with the gateway's message, and plain http is not affected")
  func forbidden() async throws {
    let rig = try await HTTPSRig(allowing: [])
    let failure = await rig.failure("https://elsewhere.example/")
    #expect(failure?.code == .forbidden)
    #expect(failure?.message.contains("add elsewhere.example:443 to its allowed") == true, "\(failure as Any)")
    #expect(try await rig.get("http://device/") == "origin")
  }

  @Test("a hundred requests to one https origin share connections, with few handshakes", arguments: [true, false])
  func pooled(_ isHTTP2: Bool) async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(
      in: TemporaryFolder(), http2: isHTTP2, tls: ca.server,
      locations: "location = /connection { return 200 \"$connection\"; }")
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["\(nginx.endpoint)"])
    let url = "https://\(nginx.endpoint)/connection"
    var connections: Set<String> = []
    for _ in 0..<20 { connections.insert(try await rig.get(url)) }
    #expect(connections.count == 1)
    let answers = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<100 { group.addTask { try await rig.get(url) } }
      return try await group.reduce(into: 0) { count, _ in count += 1 }
    }
    #expect(answers == 100)
  }

  @Test("bodies stream byte for byte in both directions over TLS", arguments: [true, false])
  func bodies(_ isHTTP2: Bool) async throws {
    let ca = try await Certificates()
    let folder = try TemporaryFolder()
    let size = 20_000_000
    let file = try MarkedFile(at: folder["f.bin"], size: size)
    let nginx = try await NginxServer(
      in: folder, http2: isHTTP2, tls: ca.server,
      locations: "location = /put { client_body_in_file_only on; return 204; }")
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["\(nginx.endpoint)"])
    var received = Data()
    for try await chunk in try await rig.client.get("https://\(nginx.endpoint)/f.bin").body {
      received.append(contentsOf: chunk.readableBytesView)
    }
    #expect(received == (try Data(contentsOf: URL(filePath: file.path))))
    let body = Body(ByteBuffer(bytes: [UInt8](received)))
    let sent = try await rig.client.execute(Request(.put, url: "https://\(nginx.endpoint)/put", body: body))
    #expect(sent.status == .noContent)
  }

  @Test("a cancelled caller leaves the connection to others, and a deadline ends the wait")
  func givingUp() async throws {
    let ca = try await Certificates()
    let folder = try TemporaryFolder()
    _ = try MarkedFile(at: folder["f.bin"], size: 50_000_000)
    let nginx = try await NginxServer(in: folder, http2: true, tls: ca.server)
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["\(nginx.endpoint)"])
    var response: Response? = try await rig.client.get("https://\(nginx.endpoint)/f.bin")
    #expect(response?.status == .ok)
    response = nil
    #expect(try await rig.get("https://\(nginx.endpoint)/hello") == "hello, byway\n")
  }

  @Test("a silent TLS server costs only the request's own time")
  func silent() async throws {
    let mute = try MuteListener()
    let rig = try await HTTPSRig(allowing: ["127.0.0.1:\(mute.port)"])
    let request = try Request(url: "https://127.0.0.1:\(mute.port)/", timeout: .milliseconds(300))
    await #expect { try await rig.client.execute(request) } throws: { BywayError($0).code == .timedOut }
    let task = Task { try await rig.client.get("https://127.0.0.1:\(mute.port)/") }
    task.cancel()
    await #expect { try await task.value } throws: { BywayError($0).code == .cancelled }
  }
}

/// A port that accepts TCP connections and never reads from them.
private struct MuteListener {
  let port: Int
  private let listening: Descriptor

  private final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
  }

  init() throws {
    port = try Endpoint.freePort()
    listening = Descriptor(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listening.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard bound == 0, listen(listening.number, 16) == 0 else { throw PeerFailure("cannot listen on \(port)") }
  }
}
