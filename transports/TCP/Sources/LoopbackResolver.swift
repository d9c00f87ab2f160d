import NIOCore
import NIOPosix

/// A resolver that has the loopback addresses for each name.
struct LoopbackResolver: Resolver {
  let eventLoop: any EventLoop

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { address("127.0.0.1", port) }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { address("::1", port) }

  func cancelQueries() {}

  private func address(_ text: String, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
    eventLoop.makeCompletedFuture { [try SocketAddress(ipAddress: text, port: port)] }
  }
}
