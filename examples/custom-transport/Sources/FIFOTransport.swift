import Byway
import Glibc
import NIOCore
import NIOPosix

/// Links over a pair of named pipes, `fifo:PATH`: PATH.up carries what the client sends, PATH.down what the gateway sends.
///
/// Supports one link at a time. The gateway creates the pipes; the permissions of the files decide who may use the link.
struct FIFOTransport: Transport {
  let scheme = "fifo"
  let forms = [AddressForm("fifo:PATH", "two named pipes")]
  let options: [LinkOption] = []

  func check(_ address: LinkAddress) throws {
    guard !address.path.isEmpty else {
      throw BywayError(.invalidAddress, "\(address) names no pipes: write fifo:/run/link.")
    }
  }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await open(address, reading: address.path + ".down", writing: address.path + ".up", context)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    for path in [address.path + ".up", address.path + ".down"] where mkfifo(path, 0o600) != 0 && errno != EEXIST {
      throw BywayError(.linkUnavailable, "\(path) cannot be made: \(String(cString: strerror(errno))).")
    }
    let queue = ChannelQueue()
    let channel = try await open(address, reading: address.path + ".up", writing: address.path + ".down", context)
    _ = queue.offer(channel)
    channel.closeFuture.whenComplete { _ in queue.end() }
    return QueueListener(address: address, queue: queue) {
      queue.end()
      for path in [address.path + ".up", address.path + ".down"] { unlink(path) }
    }
  }

  private func open(
    _ address: LinkAddress, reading: String, writing: String, _ context: LinkContext
  ) async throws -> any Channel {
    // Opening a FIFO for both directions does not wait for the other end (fifo(7)).
    let input = Glibc.open(reading, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    let output = Glibc.open(writing, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard input >= 0, output >= 0 else {
      for descriptor in [input, output] where descriptor >= 0 { close(descriptor) }
      throw BywayError(
        .linkUnavailable, "\(address) is not there: start the gateway first.", processing: .none)
    }
    return try await NIOPipeBootstrap(group: context.group)
      .channelInitializer { $0.prepareForHandover() }
      .takingOwnershipOfDescriptors(input: input, output: output).get()
  }
}
