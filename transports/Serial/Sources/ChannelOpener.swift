import Byway
import BywayPrimitives
import Logging
import NIOCore
import NIOPosix

/// Opens one device as a channel, under its current name.
struct ChannelOpener: Sendable {
  let address: SerialAddress
  let group: any EventLoopGroup
  let logger: Logger
  let advice: SingleAdvice

  /// - Parameter queue: the queue that receives the channel when it is active.
  /// - Throws: ``SerialFailure``.
  func open(to queue: ChannelQueue? = nil) async throws -> any Channel {
    // Several requests to a USB adapter take a few milliseconds each.
    let port = try await NIOThreadPool.singleton.runIfActive { try openPort() }
    let (input, output) = try port.duplicates()
    do {
      // Both descriptors now belong to the channel, which closes them if its setup fails.
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

  /// Warns of another reader, because each byte goes to one reader only. Usually it is a login on the same line, which takes no
  /// lock.
  private func warnOfOthers(at path: String) {
    guard let other = RunningProcess.others(withOpen: path).first else { return }
    advice.giveOnce("other \(path) \(other)") {
      logger.warning("\(path) is also open in \(other), which takes bytes from it: stop that program.")
    }
  }
}
