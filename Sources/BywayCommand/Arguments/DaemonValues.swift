import ArgumentParser
import BywayDaemon

// The values of a daemon's options that the daemon knows as well.

extension LogLevel: ExpressibleByArgument {}

extension LogFormat: ExpressibleByArgument {}

extension AccessLogFormat: ExpressibleByArgument {}
