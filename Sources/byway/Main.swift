import Byway
import BywayCommand
import CANTransport
import DescriptorTransport
import LoopbackTransport
import MQTTTransport
import ProcessTransport
import RFCOMMTransport
import TCPTransport
import USBTransport
import UnixTransport
import VSockTransport
import VirtioTransport
import WebSocketTransport

#if SerialAndSSH
  import SSHTransport
  import SerialTransport
#endif

/// The composition root: the only file that knows every transport.
@main enum Main {
  static func main() async {
    var transports: [any Transport] = [
      UnixTransport(), TCPTransport(), TLSTransport(), StdioTransport(), ExecTransport(), LoopbackTransport(),
      DescriptorTransport(), VSockTransport(), VirtioTransport(), CANTransport(), USBTransport(), USBGadgetTransport(),
      RFCOMMTransport(), WebSocketTransport(over: TCPTransport()), WebSocketTransport(over: TLSTransport()),
      MQTTTransport(), MQTTTransport(isSecure: true),
    ]
    #if SerialAndSSH
      transports += [SSHTransport(), SerialTransport()]
      let omitted: [String: String] = [:]
    #else
      let advice = "Install libssh2-1-dev and libserialport-dev, and build it with --traits SerialAndSSH."
      let omitted = ["serial": advice, "ssh": advice]
    #endif
    await BywayCommand.run(transports: transports, omitted: omitted)
  }
}
