// swift-tools-version: 6.1
import PackageDescription

// A separate package that depends on Byway and adds two transports: one of bytes, and one of datagrams.
let package = Package(
  name: "custom-transport",
  dependencies: [
    .package(name: "byway", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    .executableTarget(
      name: "mybyway",
      dependencies: [
        .product(name: "Byway", package: "byway"),
        .product(name: "BywayCommand", package: "byway"),
        .product(name: "UnixTransport", package: "byway"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      path: "Sources", swiftSettings: [.swiftLanguageMode(.v6)]),
    .testTarget(
      name: "mybywayTests",
      dependencies: [
        "mybyway",
        .product(name: "Byway", package: "byway"),
        .product(name: "BywayTesting", package: "byway"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      path: "Tests", swiftSettings: [.swiftLanguageMode(.v6)]),
  ]
)
