import Byway
import BywayGatewayProgram
import DescriptorTransport
import ProcessTransport
import TCPTransport
import UnixTransport

#if SerialAndSSH
  import SerialTransport
#endif

/// The composition root of the small gateway, with the transports that a device needs.
@main enum Main {
  static func main() async {
    let common: [any Transport] = [
      UnixTransport(), TCPTransport(), TLSTransport(), StdioTransport(), ExecTransport(), DescriptorTransport(),
    ]
    let others = [
      "can", "loopback", "mqtt", "mqtts", "rfcomm", "ssh", "usb", "usb-gadget", "virtio", "vsock", "ws", "wss",
    ]
    let advice = "Use the command byway, which has them: \"byway gateway\"."
    #if SerialAndSSH
      let transports = common + [SerialTransport()]
      let omitted = others
    #else
      let transports = common
      let omitted = others + ["serial"]
    #endif
    await GatewayProgram.run(
      transports: transports, omitted: Dictionary(uniqueKeysWithValues: omitted.map { ($0, advice) }))
  }
}
