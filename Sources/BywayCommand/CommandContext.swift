import Byway

/// What commands find around them, because ArgumentParser makes them out of nothing but arguments.
enum CommandContext {
  @TaskLocal static var transports = TransportRegistry([])
  /// The first argument, which should be a command's name.
  @TaskLocal static var command = ""
  /// As they were given, after the command's name.
  @TaskLocal static var arguments: [String] = []
}
