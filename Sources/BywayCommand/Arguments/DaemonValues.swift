import ArgumentParser
import BywayDaemon
import BywayDaemonProcess
import BywayGatewayProgram
import BywayTerminal

// The values of a daemon's options that modules below the command know as well.

extension LogLevel: ExpressibleByArgument {}

extension LogFormat: ExpressibleByArgument {}

extension AccessLogFormat: ExpressibleByArgument {}

extension Seconds: ExpressibleByArgument {
  package var defaultValueDescription: String { "\(amount.nanoseconds / 1_000_000_000)" }
}

extension Size: ExpressibleByArgument {
  package var defaultValueDescription: String { ByteCount.text(bytes) }
}
