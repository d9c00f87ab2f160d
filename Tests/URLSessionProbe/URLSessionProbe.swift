import Byway
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization

/// Checks that need a separate process: process-wide registration and memory use.
///
///     URLSessionProbe register | register-late | download BYTES | download-file BYTES [LIMIT]
@main enum URLSessionProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:probe")
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [link],
        origin: .handler { request in
          guard let count = request.head.path.flatMap({ Int($0.dropFirst()) }) else {
            return Response(status: .ok, body: Body("over the link"))
          }
          return Response(status: .ok, body: Body(Zeros(count: count), length: count))
        }))
    let client = BywayClient(link)
    let bridge = try Bridge([Route(Scope(hosts: ["device"]), over: client)])
    switch arguments.first {
    case "register": try await register(bridge)
    case "register-late": try registerLate(bridge)
    case "download": try await download(Int(arguments.last ?? "") ?? 0, bridge)
    case "download-file":
      let numbers = arguments.dropFirst().compactMap { Int($0) }
      await downloadFile(numbers.first ?? 0, limit: numbers.count > 1 ? numbers[1] : nil, bridge)
    default: print("URLSessionProbe register | register-late | download BYTES | download-file BYTES [LIMIT]")
    }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }

  private static func register(_ bridge: Bridge) async throws {
    try bridge.register()
    let (data, _) = try await URLSession.shared.data(from: device("/"))
    print(String(decoding: data, as: UTF8.self))
    bridge.unregister()
    let isReachable = (try? await URLSession.shared.data(from: device("/"))) != nil
    print("after unregistering: \(isReachable ? "over the link" : "no such host")")
  }

  private static func registerLate(_ bridge: Bridge) throws {
    _ = URLSession(configuration: .default)
    do { try bridge.register() } catch { print(error) }
  }

  private static func download(_ count: Int, _ bridge: Bridge) async throws {
    let start = ContinuousClock.now
    let received = await withCheckedContinuation { continuation in
      let session = URLSession(
        configuration: .byway(bridge), delegate: Counter { continuation.resume(returning: $0) }, delegateQueue: nil)
      session.dataTask(with: device("/\(count)")).resume()
    }
    print("received \(received) in \(ContinuousClock.now - start)")
    printPeak()
  }

  /// Downloads to a file in TMPDIR.
  /// - Parameter limit: the largest file that the system lets this process write, in bytes.
  private static func downloadFile(_ count: Int, limit: Int?, _ bridge: Bridge) async {
    if let limit {
      signal(SIGXFSZ, SIG_IGN)
      var limits = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
    }
    let start = ContinuousClock.now
    do {
      let (file, _) = try await URLSession(configuration: .byway(bridge)).download(from: device("/\(count)"))
      let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] ?? 0
      print("received \(size) in \(ContinuousClock.now - start)")
      try FileManager.default.removeItem(at: file)
    } catch {
      print("error \((error as? URLError)?.code.rawValue ?? 0)")
    }
    printPeak()
  }

  private static func printPeak() {
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    print(status?.split(separator: "\n").first { $0.hasPrefix("VmHWM") } ?? "")
  }

  private static func device(_ path: String) -> URL {
    URL(string: "http://device\(path)") ?? URL(fileURLWithPath: path)
  }
}

private struct Zeros: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let count: Int

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: count) }

  struct AsyncIterator: AsyncIteratorProtocol {
    static let chunk = ByteBuffer(repeating: 0, count: 64 * 1024)
    var rest: Int

    mutating func next() async -> ByteBuffer? {
      guard rest > 0 else { return nil }
      let chunk = Self.chunk.getSlice(at: 0, length: Swift.min(rest, Self.chunk.readableBytes)) ?? Self.chunk
      rest -= chunk.readableBytes
      return chunk
    }
  }
}

/// A delegate that counts bytes. It pauses for three seconds in the middle, when more could arrive than memory may hold.
private final class Counter: NSObject, URLSessionDataDelegate, Sendable {
  private let count = Atomic(0)
  private let ended: @Sendable (Int) -> Void

  init(_ ended: @escaping @Sendable (Int) -> Void) {
    self.ended = ended
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let (old, new) = count.add(data.count, ordering: .relaxed)
    // Real time: Foundation calls a delegate synchronously, so that it cannot wait for an event.
    if old >> 24 == 0, new >> 24 == 1 { usleep(3_000_000) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if let error { print(error) }
    ended(count.load(ordering: .relaxed))
  }
}
