import ArgumentParser
import Byway
import BywayBrowserFiles
import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore

/// `byway browser`
struct BrowserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "browser",
    abstract: "Writes a static site with which a browser shows the web pages of a device on a serial port.",
    usage: "byway browser --out <folder> [<options>]",
    discussion: """
      Serve the folder over https, or with any web server of this machine. The page opens the port with Web Serial, and a \
      service worker sends the requests of the device's pages over it, so users install nothing. The device speaks HTTP/1.1 on \
      the line.

      The device's pages can use everything that belongs to their origin. Give them an origin of their own with --page-origin \
      and --device-origin, and serve the folder at both.
      """)

  @Option(help: .value("folder", "Where to write the files. It is created if it is missing."), completion: .directory)
  var out: String

  @Option(help: .value("origin", "The origin of the page with the connection, such as https://app.example."))
  var pageOrigin: String?

  @Option(help: .value("origin", "The origin of the device's pages, such as https://device.example."))
  var deviceOrigin: String?

  func run() throws {
    let files = try chosenFiles
    guard mkdir(out, 0o755) == 0 || errno == EEXIST else {
      throw CommandFailure(.cannotCreate, "Cannot create \(out): \(SystemError(code: errno)).")
    }
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
      try WholeFile.write(ByteBuffer(bytes: bytes), to: "\(out)/\(name)")
    }
    try StandardStream.output.write(
      "\(files.count) files are in \(out). Serve them over https, or from this machine.\n")
  }

  private var chosenFiles: [String: [UInt8]] {
    get throws(CommandFailure) {
      switch (pageOrigin, deviceOrigin) {
      case (nil, nil): return BrowserFiles.all
      case (let page?, let device?):
        guard page != device else {
          throw CommandFailure(
            .usage, "--page-origin and --device-origin are the same: omit both, or give the device's pages another one."
          )
        }
        return BrowserFiles.all(
          pageOrigin: try Self.checked(page, "--page-origin"), deviceOrigin: try Self.checked(device, "--device-origin")
        )
      default: throw CommandFailure(.usage, "--page-origin and --device-origin are needed together.")
      }
    }
  }

  /// Returns the origin, which consists of a scheme, a host, and a port if it is not the usual one.
  private static func checked(_ origin: String, _ option: String) throws(CommandFailure) -> String {
    let isOrigin = origin.wholeMatch(of: /https?:\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?/) != nil
    guard isOrigin else {
      throw CommandFailure(
        .usage,
        "\(option) \(origin) is not an origin: give a scheme and a host in lower case, such as https://app.example.")
    }
    return origin
  }
}
