import BywayHTTP2Session
import NIOCore
import Testing

@Suite struct ConfigurationTests {
  @Test("the default configuration is valid") func defaults() throws {
    try HTTP2Configuration.defaults.check()
  }

  /// The name of each field, a valid change, and an invalid one.
  private static let fields:
    [(String, @Sendable (inout HTTP2Configuration) -> Void, @Sendable (inout HTTP2Configuration) -> Void)] = [
      ("streams.maximumConcurrent", { $0.streams.maximumConcurrent = 7 }, { $0.streams.maximumConcurrent = 0 }),
      (
        "streams.maximumHeaderListSize", { $0.streams.maximumHeaderListSize = 7000 },
        { $0.streams.maximumHeaderListSize = 1 }
      ),
      ("streams.heldHeaderSize", { $0.streams.heldHeaderSize = 1 << 20 }, { $0.streams.heldHeaderSize = 0 }),
      (
        "streams.informationalResponses", { $0.streams.informationalResponses = 7 },
        { $0.streams.informationalResponses = -1 }
      ),
      ("streams.maximumFrameSize", { $0.streams.maximumFrameSize = 20_000 }, { $0.streams.maximumFrameSize = 16_383 }),
      ("streams.headerTableSize", { $0.streams.headerTableSize = 0 }, { $0.streams.headerTableSize = -1 }),
      ("windows.initial", { $0.windows.initial = 70_000 }, { $0.windows.initial = 1 << 31 }),
      ("windows.usual", { $0.windows.usual = 300_000 }, { $0.windows.usual = 1000 }),
      ("windows.maximum", { $0.windows.maximum = 1 << 20 }, { $0.windows.maximum = 1 << 10 }),
      ("windows.growth", { $0.windows.growth = 0 }, { $0.windows.growth = -1 }),
      ("timeouts.settings", { $0.timeouts.settings = .seconds(7) }, { $0.timeouts.settings = .seconds(0) }),
      ("timeouts.headerBlock", { $0.timeouts.headerBlock = .seconds(7) }, { $0.timeouts.headerBlock = .seconds(-1) }),
      ("timeouts.idle", { $0.timeouts.idle = .seconds(7) }, { $0.timeouts.idle = .seconds(0) }),
      ("timeouts.pingInterval", { $0.timeouts.pingInterval = .seconds(7) }, { $0.timeouts.pingInterval = .seconds(0) }),
      (
        "timeouts.quietPingInterval", { $0.timeouts.quietPingInterval = .seconds(7) },
        { $0.timeouts.quietPingInterval = .seconds(0) }
      ),
      (
        "timeouts.idlePingInterval", { $0.timeouts.idlePingInterval = .seconds(7) },
        { $0.timeouts.idlePingInterval = .seconds(0) }
      ),
      ("timeouts.pingDelay", { $0.timeouts.pingDelay = .seconds(7) }, { $0.timeouts.pingDelay = .seconds(0) }),
      ("timeouts.pingAnswer", { $0.timeouts.pingAnswer = .seconds(7) }, { $0.timeouts.pingAnswer = .seconds(0) }),
      ("floods.resets.burst", { $0.floods.resets.burst = 7 }, { $0.floods.resets.burst = 0 }),
      ("floods.resets.perSecond", { $0.floods.resets.perSecond = 7 }, { $0.floods.resets.perSecond = 0 }),
      ("floods.controlFrames.burst", { $0.floods.controlFrames.burst = 7 }, { $0.floods.controlFrames.burst = 0 }),
      (
        "floods.controlFrames.perSecond", { $0.floods.controlFrames.perSecond = 7 },
        { $0.floods.controlFrames.perSecond = 0 }
      ),
      ("floods.windowUpdates.burst", { $0.floods.windowUpdates.burst = 7 }, { $0.floods.windowUpdates.burst = 0 }),
      (
        "floods.windowUpdates.perSecond", { $0.floods.windowUpdates.perSecond = 7 },
        { $0.floods.windowUpdates.perSecond = 0 }
      ),
      ("floods.tinyData.burst", { $0.floods.tinyData.burst = 7 }, { $0.floods.tinyData.burst = 0 }),
      ("floods.tinyData.perSecond", { $0.floods.tinyData.perSecond = 7 }, { $0.floods.tinyData.perSecond = 0 }),
    ]

  @Test("every configuration field is applied, validated, and named in an error") func fields() throws {
    for (name, change, spoil) in Self.fields {
      var changed = HTTP2Configuration.defaults
      change(&changed)
      #expect(changed != .defaults, "\(name)")
      try changed.check()
      #expect(HTTP2Session(role: .server, configuration: changed, at: .uptimeNanoseconds(0)).configuration == changed)

      var spoilt = HTTP2Configuration.defaults
      spoil(&spoilt)
      let error = #expect(throws: HTTP2Configuration.Invalid.self) { try spoilt.check() }
      #expect(error?.field == name)
      #expect(error?.description.hasPrefix(name) == true)
    }
    // `streams.allowsExtendedConnect`, `windows.isEager` and `tellsDepartures` have no invalid values.
    #expect(Self.fields.count + 3 == leaves(of: HTTP2Configuration.defaults))
  }

  /// Returns the number of stored properties in nested values.
  private func leaves(of value: Any) -> Int {
    let children = Mirror(reflecting: value).children
    if children.isEmpty || value is TimeAmount || value is TimeAmount? { return 1 }
    return children.reduce(0) { $0 + leaves(of: $1.value) }
  }

  @Test("SETTINGS carry the configured values") func onTheWire() {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumConcurrent = 9
    configuration.streams.maximumHeaderListSize = 9000
    configuration.streams.maximumFrameSize = 20_000
    configuration.streams.headerTableSize = 900
    configuration.streams.allowsExtendedConnect = false
    configuration.windows.initial = 99_999
    let server = HTTP2Session(role: .server, configuration: configuration, at: .uptimeNanoseconds(0))
    var wire = ByteBuffer()
    server.nextTransmit(maximum: 1000, into: &wire, at: .uptimeNanoseconds(0))
    let settings = RawFrame.parse(wire).first?.payload ?? []
    var entries: [Int: Int] = [:]
    for start in stride(from: 0, to: settings.count, by: 6) {
      let value = settings[start + 2..<start + 6].reduce(0) { $0 << 8 | Int($1) }
      entries[Int(settings[start]) << 8 | Int(settings[start + 1])] = value
    }
    #expect(entries == [3: 9, 4: 99_999, 5: 20_000, 6: 9000, 1: 900, 9: 1])
  }
}
