import Byway

/// The surroundings of a command. ArgumentParser creates commands from their arguments only.
enum CommandContext {
  @TaskLocal static var transports = TransportRegistry([])
  /// The first argument, which should be the name of a command.
  @TaskLocal static var command = ""
  /// The arguments after the command's name, as they were given.
  @TaskLocal static var arguments: [String] = []
}
