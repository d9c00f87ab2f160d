import BywayTerminal

/// The help of byway-gateway.
enum ProgramHelp {
  static func text(schemes: [String]) -> String {
    var text = """
      USAGE: byway-gateway --link <link> … --origin <origin> [<options>]

      A small gateway for devices: it accepts HTTP on its links and forwards it to an origin, as "byway gateway" does.
      Links: \(schemes.map { "\($0):" }.joined(separator: ", ")). The command byway has more, and more options.

      Without --allow, a client can reach the origin and nothing else. SIGTERM and SIGINT stop it gracefully; a second
      signal stops it at once.

      OPTIONS:

      """
    for option in ProgramOption.all { text += "  \(option.usage)\n      \(option.help)\n" }
    text += "  --version\n      Show the version.\n  -h, --help\n      Show this help.\n"
    return text
  }
}
