import BywayCommand
import UnixTransport

/// The whole `byway` command, with two more transports.
@main enum Main {
  static func main() async {
    await BywayCommand.run(transports: [UnixTransport(), FIFOTransport(), DatagramTransport()])
  }
}
