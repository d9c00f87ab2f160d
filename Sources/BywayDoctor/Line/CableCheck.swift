import Byway

/// Checks that the line opens, and reads its modem control lines.
struct CableCheck: LinkCheck {
  static let title = "cable"

  let address: LinkAddress
  let medium: any Transport

  func examine(_ resources: OpenedResources) async throws -> Finding<RawLine> {
    let rawLine: RawLine
    do {
      rawLine = try await RawLine.open(address, over: medium, resources)
    } catch let error as BywayError {
      let fault: LinkFault = (error.cause is PortTaken) ? .inUse : .notConnected
      return .wrong(Diagnosis(fault, error.message))
    }
    guard let lines = await LineInstruments.read(from: rawLine.channel).modemLines else {
      return .undecided("It opens. Its driver does not report the state of CTS, DSR and DCD.", rawLine)
    }
    let saw = "It opens. The far end's lines: \(Self.text(lines))."
    if address[option: "flow"] == "rtscts", !lines.clearToSend {
      return .wrong(
        Diagnosis(
          .notClearToSend,
          "CTS is off, so flow=rtscts keeps this end from sending: connect RTS and CTS crosswise, or leave out "
            + "flow=rtscts at both ends."),
        saw: saw)
    }
    return .sound(saw, rawLine)
  }

  /// Describes the lines. With a cable of three wires they are all off, which is no fault.
  private static func text(_ lines: LineInstruments.ModemLines) -> String {
    let named = [("CTS", lines.clearToSend), ("DSR", lines.dataSetReady), ("DCD", lines.carrier)]
    let all = named.map { "\($0) \($1 ? "on" : "off")" }.joined(separator: ", ")
    return named.contains { $0.1 } ? all : "\(all), as with a cable of three wires or with nothing plugged in"
  }
}
