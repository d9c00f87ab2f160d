package import Byway
package import BywayDevices
package import NIOCore

/// Derives devices from ports that come and go, and from the claims of the devices. A state machine without I/O or clock.
package struct DiscoveredPorts: Sendable {
  /// A question to the device at a link for its claim.
  package struct Question: Sendable, Hashable {
    fileprivate let number: Int
    package let link: String
  }

  private struct Entry: Sendable {
    let source: Int
    var port: DiscoveredPort
    /// The claimed or derived name, from which ``name`` was made unique.
    var basis: DeviceName?
    var name: DeviceName?
  }

  /// More than a USB bus can have. Further ports are ignored.
  private static let portLimit = 256
  /// The maximum number of questions at once. Each uses a file descriptor and runs up to a line's time limit.
  private static let questionLimit = 8

  private var entries: [Entry] = []
  private var reserved: Set<DeviceName>
  /// The unanswered questions, including those to ports that have gone: a port gets one question at a time.
  private var running: [Question] = []
  private var questionCount = 0

  /// - Parameter reserved: names that configured devices have.
  package init(reserved: Set<DeviceName>) {
    self.reserved = reserved
  }

  // MARK: Input

  /// Updates the ports of one source.
  /// - Parameter source: the source of this list, which has no ports of other sources.
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
    // Ports that are still there are matched first, so that no new port is mistaken for one of them.
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

  /// Evicts a port that is away if the limit is reached.
  private mutating func makeRoom() {
    guard entries.count >= Self.portLimit, let place = entries.firstIndex(where: { !$0.port.isHere }) else { return }
    entries.remove(at: place)
  }

  /// Takes the answer to a question.
  /// - Parameter answer: `nil` if no device has identified itself.
  package mutating func take(_ answer: DeviceClaim?, to question: Question, at now: NIODeadline) {
    running.removeAll { $0 == question }
    for index in entries.indices { entries[index].port.take(answer, to: question, at: now) }
    advance(to: now)
  }

  /// Replaces the names that configured devices have.
  package mutating func reserve(_ names: Set<DeviceName>) {
    reserved = names
    nameAll()
  }

  /// Removes ports that have been away for too long, and publishes those that have not answered for long.
  package mutating func advance(to now: NIODeadline) {
    for index in entries.indices { entries[index].port.advance(to: now) }
    entries.removeAll { $0.port.isOver(at: now) }
    nameAll()
  }

  // MARK: Output

  /// Returns the questions to ask now. Each is returned once, and its answer is expected by ``take(_:to:at:)``.
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

  /// The time of the next question, publication or expiry. It is in the past if questions wait for the answers of others.
  package var deadline: NIODeadline? { entries.compactMap(\.port.deadline).min() }

  /// The known devices, sorted by name.
  package var devices: [DiscoveredDevice] {
    entries.compactMap { entry in
      guard entry.port.isKnown, let name = entry.name else { return nil }
      let port = entry.port
      let state: DiscoveredDevice.State =
        switch port.state {
        case .here: .present
        case .unavailable(let reason): .unavailable(reason)
        case .away(let since): .away(since: since)
        }
      let title = port.claim?.title ?? port.port.name.flatMap { DeviceText(claimed: $0) }
      return DiscoveredDevice(name: name, title: title, link: port.port.address, state: state)
    }.sorted { $0.name < $1.name }
  }

  // MARK: Names

  /// Names all known devices. A device keeps its name until its basis changes or the name is reserved.
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

  /// Returns the claimed name, if no configured device has it; otherwise a name derived from the adapter.
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
