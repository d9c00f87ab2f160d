import Byway
import BywayDaemon
import BywayDaemonProcess
import BywayTerminal

extension CommandPlan {
  private typealias PlacedLink = (section: String, link: OptionLink)

  /// Checks what a start checks before it changes anything: the files that it reads must be valid, and it must be possible to
  /// create the files that it makes. Reports all errors, in the order of the lines.
  /// - Throws: ``ConfigurationErrors``
  func check(_ transports: TransportRegistry) throws {
    var links: [PlacedLink] = []
    var taken = TakenPlaces<PlacedLink>()
    var flaws: [OptionFlaw] = []
    for (name, member) in members {
      let own = member.options.links(of: member.configuration)
      links += own.map { (name, $0) }
      flaws += places.flaws(
        of: own.map(\.check) + member.options.checks(in: transports), in: name, of: Command.Member.self)
    }
    flaws += places.flaws(of: daemon.observation.checks, of: Command.Member.self)
    for link in links { flaws += clash(of: link, with: &taken) }
    for link in try daemon.observation.links(in: transports) {
      flaws += places.flaws(of: [link.check], of: Command.Member.self) + clash(of: ("", link), with: &taken)
    }
    if !flaws.isEmpty { throw ConfigurationErrors(of: flaws) }
  }

  /// Reports a place or a line that another link has already.
  private func clash(of link: PlacedLink, with taken: inout TakenPlaces<PlacedLink>) -> [OptionFlaw] {
    defer { taken.take(link.link, for: link) }
    guard let other = taken.owner(inTheWayOf: link.link) else { return [] }
    let rival = places.place(of: other.link.option, other.link.value, in: other.section)
    let words = rival.line.map { "line \($0)" } ?? other.link.option
    let place = link.link.link.address.place
    let message =
      link.link.link.isLine
      ? "\(place) is one line, which [\(Command.Member.kind) \(other.section)] has: a line has one user."
      : "\(place) is taken by \(words): choose another place for one of them."
    let failure = CommandFailure(.usage, message)
    return [places.flaw(failure, at: link.link.option, link.link.value, in: link.section, of: Command.Member.self)]
  }
}
