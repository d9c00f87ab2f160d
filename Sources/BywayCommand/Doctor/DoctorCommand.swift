import ArgumentParser
import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayDoctor
import BywayGatewayProgram
import BywayLibC
import BywayPrimitives
import BywayTerminal

/// `byway doctor`
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Examines a link from the ground up, and says what is wrong with it.",
    discussion: """
      Each line is a check and what it saw: ok, note (it works, but), wrong, ? (unknown) or - (not made). The last line says \
      what is wrong and which command fixes it, or that the link is sound. It takes at most 20 seconds, opens nothing that \
      another program has, leaves every setting as it was, and sends nothing that could do harm. Exit status: 0 if the link works, \
      69 if it does not.
      """)

  @Argument(
    help: .value(
      "link",
      "The link: an address such as unix:/run/byway.sock, or a name that byway links lists. (default: $BYWAY_LINK)"),
    completion: .links)
  var place: String?

  @OptionGroup var option: LinkOptions

  @Flag(help: "Write a JSON object instead, when all is done.")
  var json = false

  @Flag(help: "Fix what can be fixed without harm, and examine again. Asks before it stops anything.")
  var fix = false

  func validate() throws {
    if place != nil, option.link != nil { throw ValidationError("The link is given twice: leave out --link.") }
  }

  func run() async throws {
    let transports = CommandContext.transports
    let link =
      try place.map { place in try OptionValue.of("LINK") { try transports.link(named: place) } }
      ?? option.link(in: transports)
    let doctor = Doctor(transports) { process in
      ControlFolders.name(ofProcess: process).map { "byway stop \(ShellWord.of($0))" }
    }
    var report = await examine(link, by: doctor)
    if fix, await mend(report) { report = await examine(link, by: doctor) }
    if json { try StandardStream.output.write("\(report.json)\n") } else { try DoctorText(.output).write(report) }
    guard report.isUsable else { throw AlreadyReported(status: .unavailable) }
  }

  /// Runs until a signal arrives. Closes what it has opened in any case.
  private func examine(_ link: Link, by doctor: Doctor) async -> Report {
    let isQuiet = json
    let signals = await Signal.arrivals(of: [.interrupt, .terminate, .hangUp])
    let examination = Task {
      await doctor.examine(link) { step in if !isQuiet { try? DoctorText(.output).write(step) } }
    }
    let interrupt = Task { for await _ in signals { examination.cancel() } }
    defer { interrupt.cancel() }
    return await examination.value
  }

  /// - Returns: Whether anything was fixed.
  private func mend(_ report: Report) async -> Bool {
    var hasMended = false
    for diagnosis in report.mendable {
      guard let remedy = diagnosis.remedy else { continue }
      if let question = remedy.question {
        guard isatty(STDIN_FILENO) == 1, (try? Confirmation.ask(question)) == true else { continue }
      }
      let done = await remedy.apply()
      StandardStream.error.writeLine("byway: \(done ?? "That could not be done. \(diagnosis.fullLine)")")
      hasMended = hasMended || done != nil
    }
    return hasMended
  }
}
