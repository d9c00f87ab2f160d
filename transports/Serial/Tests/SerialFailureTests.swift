import Byway
import BywayPrimitives
import Foundation
import Glibc
import TestTools
import Testing
import TransportTestSupport

@testable import SerialTransport

/// Checks that each failure has its own message that says what to try.
@Suite struct SerialFailureTests {
  static let ports = [
    PortDescription(path: "/dev/ttyS0"),
    PortDescription(
      path: "/dev/ttyUSB0", usb: USBAdapter(identity: USBIdentity(vendor: 0x0403, product: 0x6001, serial: "A1"))),
  ]

  @Test("if a port is missing, the error lists the existing ports and the nearest")
  func missing() {
    #expect(
      SerialFailure.missing("/dev/ttyUSB1").message(ports: Self.ports)
        == "There is no serial port /dev/ttyUSB1: plug it in, or choose another. Did you mean /dev/ttyUSB0? There are: "
        + "serial:/dev/ttyS0 (/dev/ttyS0), serial:usb:0403:6001:A1 (/dev/ttyUSB0).")
    #expect(
      SerialFailure.missing("/dev/ttyUSB1").message(ports: []).hasSuffix(
        "There are no serial ports here; \"dmesg\" shows whether the system has seen one."))
  }

  @Test("if an adapter is missing or ambiguous, the error lists the addresses to choose from")
  func adapters() throws {
    let pattern = try #require(USBIdentity("0403:6001"))
    let second = PortDescription(
      path: "/dev/ttyUSB1", usb: USBAdapter(identity: USBIdentity(vendor: 0x0403, product: 0x6001, serial: "A2")))
    let all = Self.ports + [second]
    #expect(
      SerialFailure.noAdapter(pattern).message(ports: [])
        == "No USB adapter 0403:6001 is plugged in. There are no serial ports here; \"dmesg\" shows whether the system "
        + "has seen one.")
    #expect(
      SerialFailure.ambiguous(pattern, Array(all.dropFirst())).message(ports: all)
        == "More than one USB adapter matches 0403:6001: choose one. There are: serial:usb:0403:6001:A1 (/dev/ttyUSB0), "
        + "serial:usb:0403:6001:A2 (/dev/ttyUSB1).")
  }

  @Test("without permission for a port, the error names the group and the command, or the udev rule")
  func permission() {
    // Tests may run as the superuser, who is never refused, so only the message is tested.
    let dialout = SerialFailure.noPermission("/dev/ttyUSB0", group: DeviceGroup(name: "dialout"))
    #expect(
      dialout.message(ports: [])
        == "Permission denied on /dev/ttyUSB0. Run \"sudo usermod -aG dialout $USER\" and log in again.")
    let nobody = SerialFailure.noPermission("/dev/ttyUSB0", group: DeviceGroup(name: nil))
    #expect(nobody.message(ports: []).contains("install the udev rule 70-byway-serial.rules"))
    #expect(nobody.message(ports: []).contains("usermod -aG dialout"))
    let old = SerialFailure.noPermission("/dev/ttyUSB0", group: DeviceGroup(name: "dialout", includesUser: true))
    #expect(old.message(ports: []).contains("this user has joined group dialout, and this login is older"))
    #expect(old.diagnosis.command == "newgrp dialout" && old.diagnosis.sentence == old.message(ports: []))
  }

  @Test("if a port is in use, the error names the process, and explains ModemManager")
  func inUse() {
    let holder = RunningProcess(getpid())
    let known = SerialFailure.inUse("/dev/ttyUSB0", by: holder).message(ports: [])
    #expect(known.hasPrefix("/dev/ttyUSB0 is in use by process \(getpid()) ("))
    #expect(known.hasSuffix(": stop that one, or choose another port.") && !known.contains("ModemManager"))
    let unknown = SerialFailure.inUse("/dev/ttyUSB0", by: nil).message(ports: [])
    #expect(unknown.hasPrefix("/dev/ttyUSB0 is in use by another program: stop that one"))
    #expect(unknown.contains("ModemManager"))
  }

  @Test(
    "errors of the kernel about a missing device count as absence, and others do not",
    arguments: [ENOENT, ENXIO, ENODEV, EIO])
  func absence(_ code: CInt) {
    #expect(SerialFailure(opening: "/dev/ttyS9", SystemError(code: code)).isAbsence)
    for other in [EACCES, EBUSY, EMFILE] {
      #expect(!SerialFailure(opening: "/dev/ttyS9", SystemError(code: other)).isAbsence)
    }
  }

  @Test("connecting to a missing port fails at once, with a clear message")
  func connecting() async throws {
    let transport = SerialTransport()
    for (address, part) in [
      ("serial:/dev/no-such-port", "There is no serial port /dev/no-such-port"),
      ("serial:usb:ffff:fffe:none", "No USB adapter ffff:fffe:none is plugged in"),
      ("serial:/dev/null", "/dev/null cannot be used as a link: it is not a terminal device"),
      ("serial:/etc/hostname", "it is not a terminal device"),
      ("serial:/dev", "it is not a terminal device"),
    ] {
      let error = await bywayError { try await transport.connect(to: LinkAddress(address), context: .test()) }
      #expect(error?.code == .linkUnavailable)
      #expect(error?.processing == BywayError.Processing.none)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "no error")")
    }
  }

  @Test("a device's group is reported only if the group may open the device")
  func groups() async throws {
    try await withTemporaryFolder { folder in
      let file = "\(folder)/port"
      try "".write(toFile: file, atomically: true, encoding: .utf8)
      chmod(file, 0o660)
      #expect(DeviceGroup(of: "\(folder)/missing").name == nil)
      if getuid() == 0 {
        // Debian's dialout is 20.
        chown(file, 0, 20)
        #expect(DeviceGroup(of: file).name == "dialout")
        chmod(file, 0o600)
      }
      #expect(DeviceGroup(of: file).name == nil || getuid() != 0)
    }
  }
}
