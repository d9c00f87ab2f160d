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

#if SSH
  import SSHTransport
#endif
#if Serial
  import SerialTransport
#endif

/// The composition root: the only file that knows every transport.
@main enum Main {
  static func main() async {
    var transports: [any Transport] = [
      UnixTransport(), TCPTransport(), TLSTransport(), StdioTransport(), ExecTransport(), LoopbackTransport(),
      DescriptorTransport(), VSockTransport(), VirtioTransport(), CANTransport(), USBTransport(), USBGadgetTransport(),
      RFCOMMTransport(),
      WebSocketTransport(over: TCPTransport()), WebSocketTransport(over: TLSTransport()), MQTTTransport(),
      MQTTTransport(isSecure: true),
    ]
    var omitted: [String: String] = [:]
    #if SSH
      transports.append(SSHTransport())
    #else
      omitted["ssh"] = "Install libssh2-1-dev, and build it with --traits SSH."
    #endif
    #if Serial
      transports.append(SerialTransport())
    #else
      omitted["serial"] = "Install libserialport-dev, and build it with --traits Serial."
    #endif
    await BywayCommand.run(transports: transports, omitted: omitted)
  }
}
