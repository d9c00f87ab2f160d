import BywayCommand
import UnixTransport

/// The whole `byway` command, with one transport more.
@main enum Main {
  static func main() async {
    await BywayCommand.run(transports: [UnixTransport(), FIFOTransport()])
  }
}
