// swift-tools-version: 6.1
import PackageDescription

// Dependencies: command → gateway, proxy, transports → core → state machines. docs/architecture.md has the table.

// Set by the Makefile, so it does not affect packages that depend on this one.
let strictness: [SwiftSetting] =
  Context.environment["WARNINGS_AS_ERRORS"] == nil ? [] : [.unsafeFlags(["-warnings-as-errors"])]

let settings: [SwiftSetting] =
  strictness + [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
  ]

// Set by the Makefile for the command: modules outside the path of ordinary requests are optimized for size.
let small: [SwiftSetting] =
  settings
  + (Context.environment["SMALL_COMMAND"] == nil ? [] : [.unsafeFlags(["-Osize"], .when(configuration: .release))])

// Set by .ci/run: debug builds optimize the line layer, whose tests simulate hours of lines. Assertions stay.
let simulated: [SwiftSetting] =
  settings
  + (Context.environment["OPTIMIZED_LINE"] == nil
    ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))])

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

func source(_ name: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = settings) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func transport(_ folder: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "transports/\(folder)/Sources", swiftSettings: small)
}

func example(_ folder: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: folder, dependencies: dependencies, path: "examples/\(folder)", swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: path, swiftSettings: settings)
}

func checks(_ folder: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: "\(folder)Checks", dependencies: ["FuzzSupport"] + dependencies, path: "Fuzz/\(folder)",
    swiftSettings: settings)
}

let package = Package(
  name: "byway",
  products: [
    "Byway", "BywayDevices", "BywayTLS", "BywayGateway", "BywayProxy", "BywayInterceptors", "BywayMetrics",
    "BywayService",
    "BywayWebSocket", "BywayURLSession", "BywayCommand", "UnixTransport", "TCPTransport", "ProcessTransport",
    "SerialTransport",
    "SSHTransport", "LoopbackTransport", "DescriptorTransport", "VSockTransport", "WebSocketTransport",
    "VirtioTransport", "CANTransport", "MQTTTransport", "RFCOMMTransport", "USBTransport",
  ].map { .library(name: $0, targets: [$0]) } + [
    .library(name: "BywayTesting", targets: ["BywayTesting", "BywayLineDevices", "BywayLineEmulation"]),
    .executable(name: "byway", targets: ["byway"]),
    .executable(name: "byway-gateway", targets: ["byway-gateway"]),
  ],
  // A program that uses the libraries depends on the transports that it needs. This is one trait, because SwiftPM 6.3 passes several to the
  // compiler in random order, and then builds everything again.
  traits: [
    .default(enabledTraits: ["SerialAndSSH"]),
    .trait(
      name: "SerialAndSSH",
      description: "The command has links of serial: and ssh:, which need libserialport and libssh2."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    // Without its URL, which needs Foundation.
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    // For BywayService only.
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // The C library of the system.
    source("BywayLibC", []),

    // Helpers for every module: files, texts, times and digests without Foundation.
    .systemLibrary(name: "CBywayMD", pkgConfig: "libmd", providers: [.apt(["libmd-dev"])]),
    source("BywayPrimitives", ["BywayLibC", "CBywayMD"]),

    // State machines without I/O, clock or lock.
    .systemLibrary(
      name: "CBywayNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    source("BywayLineLayer", [], simulated),
    source("BywayHTTPWire", ["BywayPrimitives", nioCore, httpTypes]),
    source("BywayHTTP1Session", ["BywayHTTPWire", nioCore]),
    source("BywayHTTP2Session", ["BywayHTTPWire", "BywayLibC", "BywayPrimitives", "CBywayNGHTTP2", nioCore]),
    source("BywayLineEmulation", [], simulated),
    // Conformance tests for one end of a line, as text that programs in any language can read.
    .target(
      name: "BywayLineConformance", dependencies: ["BywayLineLayer", "BywayPrimitives"],
      resources: [.embedInCode("Scripts")],
      swiftSettings: simulated),

    // The core, which users import.
    source(
      "Byway",
      [
        "BywayLibC", "BywayLineLayer", "BywayHTTPWire", "BywayHTTP1Session", "BywayHTTP2Session", "BywayPrimitives",
        nioCore, nioPosix, httpTypes, logging,
      ]),

    // Devices by their names, and hubs that their gateways dial.
    source("BywayDevices", ["Byway", "BywayHTTPWire", "BywayLineLayer", "BywayPrimitives", nioCore, logging]),

    // TLS for links and origins.
    source(
      "BywayTLS",
      [
        "Byway", "BywayHTTPWire", "BywayLibC", "BywayPrimitives", nioCore, nioSSL, nioTLS, httpTypes, logging,
      ]),

    // The gateway and the proxy.
    source(
      "BywayGateway",
      [
        "Byway", "BywayDevices", "BywayLibC", "BywayTLS", "BywayLineLayer", "BywayHTTPWire", "BywayPrimitives", nioCore,
        nioPosix, httpTypes, logging,
      ]),
    source(
      "BywayProxy",
      [
        "Byway", "BywayDevices", "BywayLibC", "BywayLineLayer", "BywayHTTP1Session", "BywayHTTPWire", "BywayPrimitives",
        nioCore, nioPosix, httpTypes, logging, crypto,
      ]),
    .systemLibrary(name: "CBywayZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    source(
      "BywayInterceptors",
      [
        "Byway", "BywayHTTPWire", "BywayLibC", "BywayPrimitives", "CBywayZlib", nioCore, nioPosix, httpTypes, logging,
        crypto,
      ]),
    // Interceptors that are programs of their own.
    source(
      "BywayPlugins",
      [
        "Byway", "BywayInterceptors", "BywayLibC", "BywayProxy", "BywayPrimitives", nioCore, nioPosix, httpTypes,
        logging,
      ], small),
    source(
      "BywayTLSInterception",
      ["Byway", "BywayLibC", "BywayProxy", "BywayTLS", "BywayHTTPWire", nioCore, nioSSL, logging, crypto, x509, asn1],
      small),
    // A live view of exchanges.
    .target(
      name: "BywayInspector",
      dependencies: [
        "Byway", "BywayInterceptors", "BywayHTTPWire", "BywayLineLayer", "BywayPrimitives", nioCore, httpTypes,
      ],
      resources: [.embedInCode("Page")], swiftSettings: settings),
    // Diagnosis of links, with additional checks in the transports.
    source(
      "BywayDoctor", ["Byway", "BywayLibC", "BywayLineLayer", "BywayPrimitives", nioCore, nioPosix, httpTypes], small),
    source("BywayWebSocket", ["Byway", nioCore, nioPosix, nioWebSocket, httpTypes]),
    .systemLibrary(name: "CBywayPSL", pkgConfig: "libpsl", providers: [.apt(["libpsl-dev"])]),
    // The only library here that needs Foundation and the list of public suffixes.
    source(
      "BywayURLSession",
      [
        "Byway", "BywayInterceptors", "BywayHTTPWire", "BywayLibC", "BywayPrimitives", "CBywayPSL", nioCore, nioPosix,
        httpTypes,
      ]),
    // Metrics for any backend of swift-metrics, and the backend of the command.
    source("BywayMetrics", ["Byway", "BywayLineLayer", coreMetrics, nioCore]),
    source("BywayPrometheusText", [coreMetrics]),
    // Gateways, proxies and clients in groups of swift-service-lifecycle.
    source("BywayService", ["Byway", "BywayGateway", "BywayProxy", serviceLifecycle]),
    source("BywayTesting", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix, logging]),
    // An emulated line between pseudo-terminals.
    .systemLibrary(name: "CBywayPseudoTerminal"),
    source("BywayLineDevices", ["BywayLibC", "BywayLineEmulation", "BywayPrimitives", "CBywayPseudoTerminal"]),

    // Transports: one folder each; none imports another.
    transport("Unix", "UnixTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix]),
    transport(
      "TCP", "TCPTransport", ["Byway", "BywayLibC", "BywayTLS", "BywayPrimitives", nioCore, nioPosix, nioSSL, logging]),
    transport("Process", "ProcessTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix, logging]),
    .systemLibrary(
      name: "CBywaySerialPort", pkgConfig: "libserialport", providers: [.apt(["libserialport-dev"])]),
    transport(
      "Serial", "SerialTransport",
      ["Byway", "BywayLibC", "CBywaySerialPort", "BywayPrimitives", nioCore, nioPosix, logging]),
    .systemLibrary(name: "CBywaySSH2", pkgConfig: "libssh2", providers: [.apt(["libssh2-1-dev"])]),
    transport(
      "SSH", "SSHTransport",
      [
        "Byway", "BywayLibC", "BywayLineLayer", "CBywaySSH2", "BywayPrimitives", nioCore, nioPosix, logging, crypto,
        cryptoExtras,
      ]),
    transport("Loopback", "LoopbackTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix]),
    transport("Descriptor", "DescriptorTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix]),
    transport("VSock", "VSockTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix]),
    transport("CAN", "CANTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, logging]),
    transport("RFCOMM", "RFCOMMTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, logging]),
    transport(
      "Virtio", "VirtioTransport", ["Byway", "BywayLibC", "BywayPrimitives", nioCore, nioPosix, logging]),
    // System calls only.
    .systemLibrary(name: "CBywayUSB"),
    transport(
      "USB", "USBTransport", ["Byway", "BywayLibC", "BywayPrimitives", "CBywayUSB", nioCore, logging]),
    // Over the stream of another transport.
    transport(
      "WebSocket", "WebSocketTransport",
      [
        "Byway", "BywayHTTP1Session", "BywayHTTPWire", "BywayPrimitives", nioCore, nioPosix, nioWebSocket,
      ]),
    // Declarations only: libmosquitto is loaded at run time, by programs that have such links.
    .systemLibrary(name: "CBywayMosquitto"),
    transport(
      "MQTT", "MQTTTransport",
      ["Byway", "BywayLibC", "BywayLineLayer", "BywayPrimitives", "CBywayMosquitto", nioCore, nioPosix, logging]),

    // The static site for browsers, which the command writes.
    .target(
      name: "BywayBrowserFiles", exclude: ["package.json"], resources: [.embedInCode("Site")], swiftSettings: small),

    // The parts of the command that its daemons use too: a terminal, standard streams, failures with exit statuses.
    source("BywayTerminal", ["Byway", "BywayLibC", "BywayPrimitives", nioCore], small),
    // The process of a daemon: its log, signals, limits, and the notices to systemd.
    source(
      "BywayDaemonProcess",
      [
        "Byway", "BywayDevices", "BywayGateway", "BywayLibC", "BywayPrimitives", "BywayTerminal", nioCore, nioPosix,
        logging,
      ], small),
    // A gateway without an argument parser, and the values of its options, which the command reads as well.
    source(
      "BywayGatewayProgram",
      [
        "Byway", "BywayDaemonProcess", "BywayDevices", "BywayGateway", "BywayLibC", "BywayPrimitives", "BywayTLS",
        "BywayTerminal", nioCore, logging,
      ], small),
    // A small gateway for devices with little flash: without Foundation.
    .executableTarget(
      name: "byway-gateway",
      dependencies: [
        "Byway", "BywayGatewayProgram", "UnixTransport", "TCPTransport", "ProcessTransport", "DescriptorTransport",
        .target(name: "SerialTransport", condition: .when(traits: ["SerialAndSSH"])),
      ],
      swiftSettings: small),
    source(
      "BywayDaemon",
      [
        "Byway", "BywayDaemonProcess", "BywayDevices", "BywayGateway", "BywayInspector", "BywayInterceptors",
        "BywayLibC", "BywayMetrics",
        "BywayPlugins", "BywayProxy", "BywayHTTPWire", "BywayLineLayer", "BywayPrimitives", "BywayPrometheusText",
        "BywayTerminal", coreMetrics, nioCore, nioPosix, httpTypes, logging,
      ], small),
    source(
      "BywayDemo",
      [
        "Byway", "BywayDaemon", "BywayDaemonProcess", "BywayGateway", "BywayInspector", "BywayInterceptors",
        "BywayProxy", "BywayLineDevices", "BywayLineEmulation", "BywayLineLayer", "BywayPrimitives", "BywayTerminal",
        nioCore,
        httpTypes, logging, crypto,
      ], small),
    source(
      "BywayCommand",
      [
        "Byway", "BywayBrowserFiles", "BywayDaemon", "BywayDaemonProcess", "BywayDemo", "BywayDevices", "BywayDoctor",
        "BywayGateway", "BywayGatewayProgram",
        "BywayInterceptors", "BywayLibC", "BywayPlugins", "BywayProxy", "BywayTLS", "BywayHTTPWire",
        "BywayLineConformance", "BywayLineDevices", "BywayLineEmulation", "BywayLineLayer", "BywayPrimitives",
        "BywayTLSInterception", "BywayTerminal", nioCore, nioPosix, nioSSL, httpTypes, logging, crypto,
        x509, asn1,
        argumentParser,
      ], small),
    .executableTarget(
      name: "byway",
      dependencies: [
        "Byway", "BywayCommand", "UnixTransport", "TCPTransport", "ProcessTransport",
        .target(name: "SerialTransport", condition: .when(traits: ["SerialAndSSH"])),
        .target(name: "SSHTransport", condition: .when(traits: ["SerialAndSSH"])),
        "LoopbackTransport", "DescriptorTransport", "VSockTransport", "WebSocketTransport",
        "VirtioTransport", "CANTransport", "MQTTTransport", "RFCOMMTransport", "USBTransport",
      ],
      swiftSettings: settings),

    .executableTarget(
      name: "interceptor-benchmark",
      dependencies: [
        "Byway", "BywayGateway", "BywayInterceptors", "LoopbackTransport", "BywayPrimitives", nioCore, httpTypes,
      ],
      path: "Benchmarks/interceptors", swiftSettings: settings),

    // Counts the allocations of the program that it is linked into. No test may depend on it, because all tests share a program.
    .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
    .executableTarget(
      name: "bridge-benchmark", dependencies: ["AllocationCounter", "Byway", "BywayURLSession", "LoopbackTransport"],
      path: "Benchmarks/bridge", swiftSettings: settings),

    // Common code of several test targets.
    .target(
      name: "TestTools", dependencies: ["BywayPrimitives", logging], path: "Tests/Support/Tools",
      swiftSettings: settings),
    .target(
      name: "TestWire", dependencies: ["Byway", "BywayHTTPWire", "TestTools", nioCore, nioPosix],
      path: "Tests/Support/Wire",
      swiftSettings: settings),

    // Listings of Markdown files that are not in an example or test: scripts/check-listings.
    .target(
      name: "Listings",
      dependencies: [
        "Byway", "BywayGateway", "BywayInterceptors", "BywayService", "BywayTLS", "BywayURLSession", "BywayWebSocket",
        "BywayLineDevices", "BywayLineEmulation", "SerialTransport", "UnixTransport", serviceLifecycle, logging,
      ],
      path: "Tests/Listings", swiftSettings: settings),

    // Examples without a separate package.
    example("five-lines", ["Byway", "BywayGateway", "UnixTransport"]),
    example("bad-line", ["Byway", "BywayGateway", "BywayLineDevices", "BywayLineEmulation", "SerialTransport"]),
    example("interceptor", ["Byway", "BywayGateway", "LoopbackTransport", httpTypes]),
    example("offline-first", ["Byway", "BywayGateway", "BywayInterceptors", "LoopbackTransport", httpTypes]),
    example("mock-in-a-test", ["Byway", "BywayInterceptors", "LoopbackTransport", httpTypes]),
    example("handler-without-a-port", ["Byway", "BywayGateway", "UnixTransport", httpTypes]),
    example("urlsession", ["Byway", "BywayGateway", "BywayURLSession", "UnixTransport", httpTypes]),

    tests(
      "BywayTests",
      [
        "Byway", "BywayLineLayer", "BywayHTTPWire", "TestWire", "TestTools", "TransportTestSupport", nioCore,
        nioEmbedded, nioPosix, httpTypes, logging,
      ]),
    tests(
      "BywayDevicesTests",
      [
        "Byway", "BywayDevices", "BywayHTTPWire", "LoopbackTransport", nioCore, nioEmbedded, logging,
      ]),
    tests(
      "BywayInspectorTests",
      [
        "Byway", "BywayGateway", "BywayInspector", "BywayProxy", "BywayHTTPWire", "BywayLineLayer", "LoopbackTransport",
        "UnixTransport", "BywayPrimitives", "TestTools", "TestWire", nioCore, httpTypes, logging,
      ]),
    tests(
      "BywayProxyTests",
      [
        "Byway", "BywayDevices", "BywayGateway", "BywayInterceptors", "BywayProxy", "BywayHTTPWire", "BywayLineDevices",
        "BywayLineEmulation", "BywayLineLayer", "TestTools",
        "TestPeers", "TestWire", "LoopbackTransport", "SerialTransport", "TCPTransport", "UnixTransport", nioCore,
        nioPosix, nioEmbedded, httpTypes, logging,
      ]),
    tests(
      "BywayInterceptorsTests",
      [
        "Byway", "BywayGateway", "BywayInterceptors", "BywayProxy", "FuzzSupport", "InterceptorChecks",
        "LoopbackTransport", "BywayPrimitives", "TCPTransport", "TestPeers", "TransportTestSupport", "UnixTransport",
        "TestTools",
        nioCore,
        httpTypes,
        logging,
      ]),
    tests(
      "BywayPluginsTests",
      [
        "Byway", "BywayGateway", "BywayInterceptors", "BywayPlugins", "BywayProxy", "LoopbackTransport",
        "ProcessTransport", "TCPTransport",
        "TestPeers", "TestTools", "UnixTransport", nioCore, nioPosix, httpTypes, logging,
      ]),
    tests(
      "BywayTLSTests",
      [
        "Byway", "BywayGateway", "BywayTLS", "LoopbackTransport", "TestPeers", "TestTools", "TestWire", nioCore,
        nioPosix, nioSSL, httpTypes, logging,
      ]),
    .executableTarget(
      name: "URLSessionProbe",
      dependencies: ["Byway", "BywayGateway", "BywayURLSession", "LoopbackTransport", nioCore, httpTypes],
      path: "Tests/URLSessionProbe", swiftSettings: settings),
    // The app of docs/guides/urlsession-on-linux.md, which Tests/Guides runs.
    .executableTarget(
      name: "GuideApp", dependencies: ["Byway", "BywayURLSession", "SerialTransport", "UnixTransport"],
      path: "Tests/Guides/App", swiftSettings: settings),
    tests(
      "BywayURLSessionTests",
      [
        "Byway", "BywayDevices", "BywayGateway", "BywayInterceptors", "BywayTLS", "BywayURLSession", "BywayLineDevices",
        "BywayLineEmulation", "LoopbackTransport", "SerialTransport", "TestPeers", "URLSessionProbe", "TestTools",
        nioCore,
        nioPosix,
        httpTypes,
      ]),
    tests(
      "TLSInterceptionTests",
      [
        "Byway", "BywayGateway", "BywayInterceptors", "BywayProxy", "BywayTLS", "BywayHTTPWire",
        "LoopbackTransport", "TCPTransport", "BywayTLSInterception", "TestPeers", "UnixTransport", "TestTools", nioCore,
        httpTypes, logging,
        crypto, x509,
        asn1,
      ]),
    tests(
      "BywayWebSocketTests",
      [
        "Byway", "BywayGateway", "BywayTLS", "BywayWebSocket", "LoopbackTransport", "TestPeers", "TestTools", nioCore,
        httpTypes,
      ]),
    tests(
      "BrowserTests",
      [
        "Byway", "BywayDevices", "BywayGateway", "BywayInspector", "BywayProxy", "BywayWebSocket", "BywayHTTPWire",
        "BywayLineDevices",
        "BywayLineEmulation", "BywayLineLayer",
        "BywayPrimitives", "SerialTransport", "TCPTransport", "TestPeers", "TestTools", "UnixTransport", nioCore,
        httpTypes,
        logging,
      ]),
    tests(
      "BywayMetricsTests",
      [
        "Byway", "BywayGateway", "BywayMetrics", "BywayLineLayer", "LoopbackTransport", "BywayPrometheusText",
        "TestPeers",
        "TestTools", "TestWire", coreMetrics, nioCore, httpTypes,
      ]),
    tests(
      "BywayServiceTests",
      [
        "Byway", "BywayGateway", "BywayProxy", "BywayService", "LoopbackTransport", "TestTools", "UnixTransport",
        serviceLifecycle, nioCore, logging,
      ]),
    tests(
      "BywayGatewayTests",
      ["Byway", "BywayGateway", "BywayHTTPWire", "LoopbackTransport", nioCore, nioPosix, httpTypes, logging]),
    tests(
      "ClientGatewayTests",
      [
        "Byway", "BywayDevices", "BywayGateway", "BywayLineDevices", "BywayLineEmulation", "LoopbackTransport",
        "SerialTransport",
        "TransportTestSupport", "TestPeers", "TestTools", "TestWire", "UnixTransport", nioCore, nioPosix, httpTypes,
      ]),
    .testTarget(
      name: "LineLayerTests", dependencies: ["FuzzSupport", "BywayLineLayer", "BywayLineEmulation"],
      exclude: ["Vectors"],
      swiftSettings: settings),
    tests("LineConformanceTests", ["BywayLineConformance", "BywayLineLayer"]),
    tests("HTTPWireTests", ["AuthorityChecks", "FuzzSupport", "BywayHTTPWire", "TestTools", nioCore, httpTypes]),
    tests(
      "HTTP2SessionTests", ["FuzzSupport", "HTTP2Checks", "BywayHTTP2Session", "BywayHTTPWire", "TestTools", nioCore]),
    // Tests of the transports.
    .target(
      name: "TransportTestSupport", dependencies: ["Byway", "TestTools", nioCore, nioPosix, logging],
      path: "Tests/TransportTestSupport", swiftSettings: settings),
    .executableTarget(
      name: "StdioEcho", dependencies: ["Byway", "BywayTesting", "ProcessTransport", nioCore, nioPosix, logging],
      path: "Tests/StdioEcho", swiftSettings: settings),
    tests(
      "UnixTransportTests",
      ["Byway", "UnixTransport", "TransportTestSupport", "TestTools", nioCore, nioPosix, logging],
      path: "transports/Unix/Tests"),
    tests(
      "TCPTransportTests",
      [
        "Byway", "BywayTLS", "TCPTransport", "TransportTestSupport", "TestPeers", "TestTools", nioCore, nioPosix,
        logging,
      ],
      path: "transports/TCP/Tests"),
    tests(
      "ProcessTransportTests",
      ["Byway", "ProcessTransport", "TransportTestSupport", "TestTools", nioCore, nioPosix, logging],
      path: "transports/Process/Tests"),
    tests(
      "SerialTransportTests",
      ["Byway", "BywayPrimitives", "SerialTransport", "TransportTestSupport", "TestTools", nioCore, nioPosix, logging],
      path: "transports/Serial/Tests"),
    .executableTarget(
      name: "TerminalProbe", dependencies: ["SSHTransport", nioCore], path: "Tests/TerminalProbe",
      swiftSettings: settings),
    tests(
      "SSHTransportTests",
      [
        "Byway", "BywayTesting", "FuzzSupport", "BywayPrimitives", "SSHChecks", "SSHTransport", "TransportTestSupport",
        "TestPeers",
        "TerminalProbe", "TestTools", nioCore, nioPosix, logging, crypto,
      ],
      path: "transports/SSH/Tests"),
    tests(
      "LoopbackTransportTests", ["Byway", "LoopbackTransport", "TransportTestSupport", nioCore, nioPosix, logging],
      path: "transports/Loopback/Tests"),
    tests(
      "DescriptorTransportTests",
      [
        "Byway", "BywayTesting", "DescriptorTransport", "TCPTransport", "UnixTransport", "TransportTestSupport",
        "TestTools", nioCore, nioPosix, logging,
      ],
      path: "transports/Descriptor/Tests"),
    tests(
      "VSockTransportTests",
      ["Byway", "VSockTransport", "TestTools", "TransportTestSupport", nioCore, nioPosix, logging],
      path: "transports/VSock/Tests"),
    tests(
      "CANTransportTests",
      ["Byway", "BywayPrimitives", "CANTransport", "TransportTestSupport", "TestTools", nioCore, logging],
      path: "transports/CAN/Tests"),
    tests(
      "RFCOMMTransportTests",
      ["Byway", "BywayPrimitives", "RFCOMMTransport", "TransportTestSupport", "TestTools", nioCore, logging],
      path: "transports/RFCOMM/Tests"),
    tests(
      "VirtioTransportTests",
      ["Byway", "BywayPrimitives", "VirtioTransport", "TransportTestSupport", "TestTools", nioCore, nioPosix, logging],
      path: "transports/Virtio/Tests"),
    tests(
      "USBTransportTests",
      [
        "Byway", "BywayPrimitives", "CBywayUSB", "USBTransport", "TransportTestSupport", "TestTools", nioCore, logging,
      ],
      path: "transports/USB/Tests"),
    tests(
      "WebSocketTransportTests",
      [
        "Byway", "BywayGateway", "FuzzSupport", "TCPTransport", "WebSocketTransport", "WebSocketChecks",
        "TransportTestSupport", "TestPeers", "TestTools", "TestWire", nioCore, nioPosix, nioEmbedded, nioWebSocket,
        logging,
      ],
      path: "transports/WebSocket/Tests"),
    tests(
      "MQTTTransportTests",
      [
        "Byway", "BywayLibC", "BywayLineLayer", "MQTTTransport", "TransportTestSupport", "TestPeers", "TestTools",
        nioCore,
        nioPosix, nioEmbedded, logging,
      ],
      path: "transports/MQTT/Tests"),
    tests(
      "TransportMatrixTests",
      [
        "Byway", "BywayTesting", "TransportTestSupport", "TestPeers", "StdioEcho", "UnixTransport", "TCPTransport",
        "ProcessTransport", "SSHTransport", "LoopbackTransport", "MQTTTransport", "WebSocketTransport", "TestTools",
        nioCore, nioPosix, nioEmbedded, logging,
      ]),
    tests(
      "BywayDoctorTests",
      [
        "Byway", "BywayDoctor", "BywayGateway", "BywayLineDevices", "BywayLineEmulation", "BywayLineLayer",
        "LoopbackTransport",
        "BywayPrimitives", "ProcessTransport", "SSHTransport", "SerialTransport", "TCPTransport", "TestPeers",
        "TestTools",
        "TransportTestSupport",
        "UnixTransport", nioCore, nioPosix, httpTypes, logging,
      ]),
    tests("LineEmulationTests", ["BywayLineEmulation"]),
    tests("LineDevicesTests", ["BywayLineDevices", "BywayLineEmulation", "TestTools"]),
    tests("PrimitivesTests", ["BywayPrimitives", "TestTools"]),
    // The checks of the fuzzers, which the tests also run.
    .target(name: "FuzzSupport", path: "Fuzz/Support", swiftSettings: settings),
    checks("Authority", ["BywayHTTPWire"]),
    checks("HTTP1", ["BywayHTTP1Session", "BywayHTTPWire", nioCore]),
    checks("HTTP2", ["HTTP1Checks", "BywayHTTP2Session", "BywayHTTPWire", nioCore]),
    checks("SSH", ["SSHTransport"]),
    checks("WebSocket", ["WebSocketTransport", nioCore, nioEmbedded, nioWebSocket]),
    checks(
      "Interceptor", ["Byway", "BywayInterceptors", "BywayHTTPWire", "BywayPrimitives", nioCore, httpTypes, crypto]),
    tests(
      "HTTP1SessionTests", ["FuzzSupport", "HTTP1Checks", "BywayHTTP1Session", "BywayHTTPWire", "TestTools", nioCore]),
    // Tests. Tests with real programs need the Debian packages in Tests/Support/README.md.
    .target(name: "TestPeers", dependencies: ["TestTools"], path: "Tests/Support/Peers", swiftSettings: settings),
    tests("InteropTests", ["TestPeers", "byway", "TestTools"]),
    tests(
      "EndToEndTests",
      [
        "Byway", "BywayLineDevices", "BywayLineEmulation", "BywayLineLayer", "SerialTransport", "TestPeers", "byway",
        "byway-gateway", "TestTools", "TestWire",
        nioCore, nioPosix, logging,
      ]),
    tests(
      "BywayDaemonTests",
      [
        "Byway", "BywayDaemon", "BywayDaemonProcess", "BywayGateway", "BywayHTTPWire", "BywayInspector",
        "BywayLineLayer", "BywayPlugins",
        "BywayPrimitives", "BywayProxy", "BywayTerminal", "TestPeers", "byway", "LoopbackTransport", "ProcessTransport",
        "TCPTransport", "UnixTransport", "TestTools", nioCore, nioPosix, httpTypes, logging,
      ]),
    tests(
      "BywayCommandTests",
      [
        "Byway", "BywayCommand", "BywayDaemon", "BywayDaemonProcess", "BywayDemo", "BywayDevices",
        "BywayGatewayProgram", "BywayLineEmulation",
        "BywayLineLayer", "BywayPlugins",
        "BywayPrimitives", "BywayTerminal", "TestPeers", "byway",
        "LoopbackTransport", "ProcessTransport",
        "TCPTransport", "UnixTransport", "TestTools", nioCore, nioPosix, httpTypes, logging, argumentParser,
      ]),
  ]
)

// Fuzz/run sets this. Only libFuzzer needs these entry points.
if Context.environment["FUZZ"] != nil {
  let targets = [
    "Authority": "AuthorityChecks", "HTTP1": "HTTP1Checks", "HTTP1Connection": "HTTP1Checks", "HTTP2": "HTTP2Checks",
    "KnownHosts": "SSHChecks",
    "SSHConfig": "SSHChecks", "CacheFile": "InterceptorChecks", "LoginFile": "InterceptorChecks",
    "Recording": "InterceptorChecks", "StubFile": "InterceptorChecks", "URL": "InterceptorChecks",
  ]
  for (name, checks) in targets {
    package.products.append(.library(name: "Fuzz\(name)", type: .static, targets: ["Fuzz\(name)"]))
    package.targets.append(
      .target(
        name: "Fuzz\(name)", dependencies: ["FuzzSupport", .target(name: checks)], path: "Fuzz/Targets/\(name)",
        swiftSettings: settings))
  }
}

// ONLY=BywayTests,LineLayerTests builds only these test targets, which saves minutes during development.
if let only = Context.environment["ONLY"] {
  let names = only.split(separator: ",").map(String.init)
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
