package import Byway
package import NIOCore

/// Makes devices of ports that come and go, and of what those say of themselves. A state machine without I/O or clock.
package struct DiscoveredPorts: Sendable {
  /// Somebody is to be asked who is there.
  package struct Question: Sendable, Hashable {
    fileprivate let number: Int
    package let link: String
  }

  private struct Entry: Sendable {
    let source: Int
    var port: DiscoveredPort
    /// What its name was made of, and is to be made of again.
    var basis: DeviceName?
    var name: DeviceName?
  }

  /// More than USB can have on a bus; what comes beyond is not looked at.
  private static let portLimit = 256
  /// Each has a descriptor, and a line's deadline.
  private static let questionLimit = 8

  private var entries: [Entry] = []
  private var reserved: Set<DeviceName>
  /// Also of ports that have gone meanwhile: one port is asked by one at a time.
  private var running: [Question] = []
  private var questionCount = 0

  /// - Parameter reserved: names that others have.
  package init(reserved: Set<DeviceName>) {
    self.reserved = reserved
  }

  // MARK: What happens

  /// - Parameter source: who lists these ports; each knows nothing of the other's.
  package mutating func list(_ ports: [LinkPort], from source: Int, at now: NIODeadline) {
    let others = Set(entries.filter { $0.source != source && $0.port.isHere }.map(\.port.port.device))
    var missing = entries.indices.filter { entries[$0].source == source }
    func match(_ ports: [LinkPort], by isSame: (DiscoveredPort, LinkPort) -> Bool) -> [LinkPort] {
      ports.filter { port in
        guard let place = missing.firstIndex(where: { isSame(entries[$0].port, port) }) else { return true }
        entries[missing.remove(at: place)].port.appear(as: port, at: now)
        return false
      }
    }
    // First what is still there, so that no newcomer passes for it.
    var new = match(ports.filter { !others.contains($0.device) }) { $0.isStill($1) }
    new = match(new) { $0.port.address == $1.address }
    for index in missing { entries[index].port.vanish(at: now) }
    for port in new {
      makeRoom()
      guard entries.count < Self.portLimit else { break }
      entries.append(Entry(source: source, port: DiscoveredPort(port, at: now)))
    }
    advance(to: now)
  }

  /// Who is away gives way to who is here.
  private mutating func makeRoom() {
    guard entries.count >= Self.portLimit, let place = entries.firstIndex(where: { !$0.port.isHere }) else { return }
    entries.remove(at: place)
  }

  /// - Parameter answer: `nil` where nobody has said who he is.
  package mutating func take(_ answer: DeviceClaim?, to question: Question, at now: NIODeadline) {
    running.removeAll { $0 == question }
    for index in entries.indices { entries[index].port.take(answer, to: question, at: now) }
    advance(to: now)
  }

  /// Others have these names from now on.
  package mutating func reserve(_ names: Set<DeviceName>) {
    reserved = names
    nameAll()
  }

  /// What has been away for too long is gone.
  package mutating func advance(to now: NIODeadline) {
    entries.removeAll { $0.port.isOver(at: now) }
    nameAll()
  }

  // MARK: What follows

  /// Who is to be asked now; each comes once, and awaits its answer.
  package mutating func questions(at now: NIODeadline) -> [Question] {
    var questions: [Question] = []
    for index in entries.indices where running.count < Self.questionLimit && entries[index].port.isDue(at: now) {
      let link = entries[index].port.port.address
      if running.contains(where: { $0.link == link }) { continue }
      questionCount += 1
      let question = Question(number: questionCount, link: link)
      entries[index].port.ask(question, at: now)
      running.append(question)
      questions.append(question)
    }
    return questions
  }

  /// When to ask or to advance without being told anything; the past, where questions wait for others.
  package var deadline: NIODeadline? { entries.compactMap(\.port.deadline).min() }

  /// By their names.
  package var devices: [DiscoveredDevice] {
    entries.compactMap { entry in
      guard entry.port.isKnown, let name = entry.name else { return nil }
      let port = entry.port
      let state: DiscoveredDevice.State =
        switch port.state {
        case .here: .present
        case .obstructed(let reason): .obstructed(reason)
        case .away(let since): .away(since: since)
        }
      let title = port.claim?.title ?? port.port.name.flatMap { DeviceText(claimed: $0) }
      return DiscoveredDevice(name: name, title: title, link: port.port.address, state: state)
    }.sorted { $0.name < $1.name }
  }

  // MARK: Names

  /// Whoever has a name keeps it as long as there is no better reason for another.
  private mutating func nameAll() {
    for index in entries.indices where entries[index].port.isKnown {
      let basis = basis(of: entries[index].port)
      let isReserved = entries[index].name.map(reserved.contains) ?? true
      if basis == entries[index].basis, !isReserved { continue }
      entries[index].name = nil
      entries[index].basis = basis
      entries[index].name = free(basis)
    }
  }

  /// What it claims, if that is nobody else's by configuration; else what is known of its adapter.
  private func basis(of port: DiscoveredPort) -> DeviceName {
    if let name = port.claim?.name, !reserved.contains(name) { return name }
    let device = port.port.device.split(separator: "/").last ?? ""
    return port.port.name.flatMap { DeviceName(claimed: $0) } ?? DeviceName(claimed: device) ?? .unnamed
  }

  private func free(_ name: DeviceName) -> DeviceName {
    let taken = reserved.union(entries.compactMap(\.name))
    var (candidate, number) = (name, 1)
    while taken.contains(candidate) {
      number += 1
      candidate = name.numbered(number)
    }
    return candidate
  }
}
