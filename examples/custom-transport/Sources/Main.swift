import BywayCommand
import UnixTransport

/// The whole `byway` command, with one more transport.
@main enum Main {
  static func main() async {
    await BywayCommand.run(transports: [UnixTransport(), FIFOTransport()])
  }
}
