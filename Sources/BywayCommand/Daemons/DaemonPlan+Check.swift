import Byway

extension DaemonPlan {
  private typealias PlacedLink = (section: String, link: OptionLink)

  /// What a start would find before it changes anything: files are read that it reads, and where it makes one there must be room
  /// for it. All that is wrong is said, in the order of the lines.
  /// - Throws: ``ConfigurationErrors``
  func check(_ transports: TransportRegistry) throws {
    var links: [PlacedLink] = []
    var flaws: [OptionFlaw] = []
    for (name, member) in members {
      let own = member.options.links(of: member.configuration)
      links += own.map { (name, $0) }
      flaws += places.flaws(of: own.map(\.check) + member.options.checks, in: name, of: Command.self)
    }
    flaws += places.flaws(of: daemon.observation.checks, of: Command.self)
    for index in links.indices { flaws += clash(of: links[index], with: links[..<index]) }
    if let link = try daemon.observation.metricsLink(in: transports) {
      let metrics = OptionLink(option: "--metrics", value: nil, link: link, opening: .listen)
      flaws += places.flaws(of: [metrics.check], of: Command.self) + clash(of: ("", metrics), with: links[...])
    }
    if !flaws.isEmpty { throw ConfigurationErrors(of: flaws) }
  }

  /// Two that would listen at one place.
  private func clash(of link: PlacedLink, with others: ArraySlice<PlacedLink>) -> [OptionFlaw] {
    guard let other = others.first(where: { $0.link.isInTheWay(of: link.link) }) else { return [] }
    let rival = places.place(of: other.link.option, other.link.value, in: other.section)
    let words = rival.line.map { "line \($0)" } ?? other.link.option
    let failure = CommandFailure(
      .usage, "\(link.link.link.address.place) is taken by \(words): choose another place for one of them.")
    return [places.flaw(failure, at: link.link.option, link.link.value, in: link.section, of: Command.self)]
  }
}
