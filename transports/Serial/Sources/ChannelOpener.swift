import Byway
import Logging
import NIOCore
import NIOPosix
import Primitives

/// Opens one device, under whatever name it has now, as a channel.
struct ChannelOpener: Sendable {
  let address: SerialAddress
  let group: any EventLoopGroup
  let logger: Logger
  let advice: Advice

  /// - Parameter queue: where the channel goes as soon as it is active.
  /// - Throws: ``SerialFailure``.
  func open(to queue: ChannelQueue? = nil) async throws -> any Channel {
    // A USB adapter is asked several things on the way, each of which takes a few milliseconds.
    let port = try await NIOThreadPool.singleton.runIfActive { try openPort() }
    let (input, output) = try port.duplicates()
    do {
      // Both descriptors now belong to the channel, which closes them where it cannot be set up.
      let channel = try await NIOPipeBootstrap(group: group)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(PortHandler(port, address.format))
          }
          .flatMap { channel.prepareForHandover(to: queue) }
        }
        .takingOwnershipOfDescriptors(input: input, output: output).get()
      logger.info("Opened \(port.path) at \(address.format)")
      return channel
    } catch {
      port.release()
      throw SerialFailure.unusable(port.path, "no channel can be made of it (\(error))")
    }
  }

  private func openPort() throws -> SerialPort {
    let path =
      switch address.device {
      case .path(let path): path
      case .usb(let pattern): try PortList().path(of: pattern)
      }
    let port = try SerialPort(path: path, format: address.format)
    if !port.isPseudoTerminal {
      port.requestLowLatency(logger: logger, advice: advice)
      warnOfOthers(at: port.path)
    }
    return port
  }

  /// Each byte goes to one reader only. Typically it is a login on the same line, which takes no lock.
  private func warnOfOthers(at path: String) {
    guard let other = RunningProcess.others(withOpen: path).first else { return }
    advice.giveOnce("other \(path) \(other)") {
      logger.warning("\(path) is also open in \(other), which takes bytes from it: stop that program.")
    }
  }
}
