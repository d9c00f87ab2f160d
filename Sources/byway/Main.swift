import BywayCommand
import CANTransport
import DescriptorTransport
import LoopbackTransport
import MQTTTransport
import ProcessTransport
import SSHTransport
import SerialTransport
import TCPTransport
import USBTransport
import UnixTransport
import VSockTransport
import VirtioTransport
import WebSocketTransport

/// The composition root: the only file that knows every transport.
@main enum Main {
  static func main() async {
    await BywayCommand.run(transports: [
      UnixTransport(), TCPTransport(), TLSTransport(), SSHTransport(), SerialTransport(), StdioTransport(),
      ExecTransport(), LoopbackTransport(), DescriptorTransport(), VSockTransport(),
      VirtioTransport(), CANTransport(), USBTransport(), USBGadgetTransport(),
      WebSocketTransport(over: TCPTransport()),
      WebSocketTransport(over: TLSTransport()), MQTTTransport(), MQTTTransport(isSecure: true),
    ])
  }
}
