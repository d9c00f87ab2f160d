import Byway
import BywayDoctor
import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

/// Devices that are missing, of another kind, not permitted, or in use.
@Suite("Doctor: serial devices", .timeLimit(.minutes(2))) struct SerialDoctorTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func expect(
    _ fault: LinkFault, at path: String, words: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let report = try await LineRig.examine("serial:\(path)")
    #expect(report.expects(fault), "\(report.json)", sourceLocation: sourceLocation)
    for word in words { #expect(report.line.contains(word), "\(report.line)", sourceLocation: sourceLocation) }
  }

  @Test("the doctor reports a missing serial device") func missing() async throws {
    try await expect(.noFile, at: "/dev/ttyNowhere0", words: ["byway ports"])
  }

  @Test(
    "the doctor reports a regular file, a folder, and a device that is not a terminal") func notADevice() async throws
  {
    try await expect(.notADevice, at: folder.write("x", to: "file"), words: ["regular file"])
    try await expect(.notADevice, at: folder.path, words: ["a folder"])
    try await expect(.notADevice, at: "/dev/null")
  }

  @Test("the doctor reports a missing USB adapter") func adapter() async throws {
    let report = try await LineRig.examine("serial:usb:1d50:ffff")
    #expect(report.expects(.noFile), "\(report.json)")
  }

  @Test("the doctor reports a port in use by a login, ModemManager or another program")
  func held() async throws {
    let cases: [(String, LinkFault, String)] = [
      ("agetty", .loginHere, "systemctl disable --now serial-getty@"),
      ("ModemManager", .modemManager, "70-byway-serial.rules"), ("picocom", .inUse, "kill "),
    ]
    for (name, fault, words) in cases {
      let device = try DeviceProgram()
      let process = try await PortHolder.start(named: name, on: device.path, in: folder)
      try await expect(fault, at: device.path, words: [words])
      await process.stop()
      device.stop()
    }
  }

  @Test("the doctor queries a proxy that has the line, without disturbing it")
  func proxy() async throws {
    let rig = try LineRig()
    let gateway = try await rig.gateway()
    let proxy = try await BywayProcess.proxy(["--link", rig.near, "--listen", "127.0.0.1:0"])
    let url = try "http://\(proxy.endpoint())/"
    #expect(try await Curl.fetch(url).status == 200)
    let report = try await rig.examine()
    #expect(report.expects(nil), "\(report.json)")
    #expect(report.steps.contains { $0.title == "proxy" })
    #expect(try await Curl.fetch(url).status == 200)
    await proxy.process.stop()
    await gateway.stop(within: .zero)
  }

  @Test("byway request on a line in use goes through the proxy that uses it")
  func requestThroughProxy() async throws {
    let rig = try LineRig()
    let gateway = try await rig.gateway()
    let proxy = try await BywayProcess.proxy(["--link", rig.near, "--listen", "127.0.0.1:0"])
    #expect(try await Curl.fetch("http://\(proxy.endpoint())/").status == 200)
    let result = try await BywayProcess.run(["request", "--link", rig.near, "-d", "x", "-w", "%{http_code}", "/"])
    #expect(result.exitCode == 0 && result.text == "200", "\(result.text) \(result.errorText)")
    #expect(result.errorText.contains("the request goes through it"), "\(result.errorText)")
    await proxy.process.stop()
    await gateway.stop(within: .zero)
  }

  @Test("byway request sends a URL with a host through the proxy as over the line, and says for which host")
  func hostThroughProxy() async throws {
    let rig = try LineRig()
    let gateway = try await rig.gateway(
      origin: .handler { request in Response(status: .ok, body: Body("for \(request.head.authority ?? "")")) })
    let proxy = try await BywayProcess.proxy(
      ["--link", rig.near, "--listen", "127.0.0.1:0", "--name", "printer.example"])
    #expect(try await Curl.fetch("http://\(proxy.endpoint())/").status == 200)
    let words = "The proxy does not answer for device, so the request is for localhost: the gateway's origin."
    func request(_ arguments: String...) async throws -> CommandResult {
      try await BywayProcess.run(["request", "--link", rig.near] + arguments)
    }
    let other = try await request("-d", "x", "http://device/path")
    #expect(other.exitCode == 0 && other.text == "for localhost", "\(other.text) \(other.errorText)")
    #expect(other.errorText.contains(words), "\(other.errorText)")
    let silent = try await request("-s", "http://device/path")
    #expect(silent.exitCode == 0 && silent.errorText.isEmpty, "\(silent.errorText)")
    let known = try await request("http://printer.example/path")
    #expect(known.text == "for printer.example" && !known.errorText.contains("localhost"), "\(known.errorText)")
    await proxy.process.stop()
    await gateway.stop(within: .zero)
  }

  @Test("the doctor says how to stop a daemon that has the line, by its name")
  func heldByDaemon() async throws {
    let rig = try LineRig()
    let environment = ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""]
    let gateway = try await BywayProcess.gateway(
      ["--link", rig.far, "--origin", "1", "--instance", "hall"], environment: environment)
    let result = try await BywayProcess.run(["doctor", rig.far], environment: environment)
    #expect(result.exitCode == 69)
    #expect(result.text.hasSuffix(" Run: byway stop hall\n"), "\(result.text)")
    // Another user's folder does not have its socket.
    let elsewhere = try await LineRig.examine(rig.far)
    #expect(elsewhere.line.hasSuffix(" Run: kill \(gateway.process.id)"), "\(elsewhere.line)")
    await gateway.process.stop()
  }

  @Test("the doctor reports a proxy that receives nothing on its line")
  func proxyOnDeadLine() async throws {
    let rig = try LineRig()
    let proxy = try await BywayProcess.proxy(["--link", rig.near, "--listen", "127.0.0.1:0"])
    // The proxy opens the line with its first request.
    async let waiting = Curl.fetch("http://\(proxy.endpoint())/")
    #expect(try await eventually { PortHolder.hasLock(on: rig.line.path(of: .a)) })
    let report = try await rig.examine()
    #expect(report.expects(.noGateway), "\(report.json)")
    let step = try #require(report.steps.last)
    #expect(step.saw?.contains("uses the line and was asked instead.") == true, "\(report.json)")
    #expect(!report.line.contains("gets no answer"), "\(report.line)")
    _ = try? await waiting
    await proxy.process.stop()
  }

  @Test("the doctor reports missing permission for a port with the command that grants it")
  func permission() async throws {
    let device = try DeviceProgram()
    chmod(device.path, geteuid() == 0 ? 0o660 : 0o000)
    var program = try BywayProcess.command()
    var arguments: [String] = []
    if geteuid() == 0 {
      let copy = folder["byway"]
      _ = try await Program.bash.run(["-c", #"cp "$1" "$2"; chmod 755 "$2""#, "test", program, copy])
      arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", copy]
      program = try Program.setpriv.path()
    }
    let result = try await Program.run(program, arguments + ["doctor", "--json", "serial:\(device.path)"])
    #expect(result.exitCode == 69, "\(result.errorText)")
    #expect(result.text.contains(#""fault":"no-permission""#) && result.text.contains("usermod -aG"), "\(result.text)")
    device.stop()
  }
}
