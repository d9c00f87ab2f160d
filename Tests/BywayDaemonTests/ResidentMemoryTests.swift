import Testing

@testable import BywayDaemonProcess

@Suite struct ResidentMemoryTests {
  @Test("only read-only private file mappings are released from memory")
  func mappings() {
    #expect(
      ResidentMemory.fileMapping("55d0c0a00000-55d0c0a02000 r-xp 00017000 fe:00 254626   /usr/bin/a b\n")
        == 0x55d0_c0a0_0000..<0x55d0_c0a0_2000)
    #expect(ResidentMemory.fileMapping("1000-3000 r--p 00000000 fe:00 254626   /lib/a.so\n") == 0x1000..<0x3000)
    for line in [
      "1000-3000 rw-p 00000000 fe:00 254626   /lib/a.so\n", "1000-3000 r--s 00000000 fe:00 254626   /tmp/a\n",
      "1000-3000 r-xp 00000000 00:00 0   [vdso]\n", "1000-3000 r--p 00000000 00:00 0 \n",
      "3000-1000 r-xp 00000000 fe:00 254626   /lib/a.so\n", "x-y r-xp 0 fe:00 2 /a\n", "", "VmFlags: rd mr me\n",
    ] { #expect(ResidentMemory.fileMapping(line) == nil, "\(line)") }
  }

  @Test("a mapping's changed pages are counted from smaps")
  func changes() {
    #expect(ResidentMemory.anonymousPages("Anonymous:             808 kB\n") == 808)
    #expect(ResidentMemory.anonymousPages("Anonymous:               0 kB\n") == 0)
    #expect(ResidentMemory.anonymousPages("AnonHugePages:         0 kB\n") == nil)
  }

  @Test("the process still works after it releases its start-up memory")
  func goesOn() {
    ResidentMemory.releaseStartUp()
    #expect([3, 1, 2].sorted() == [1, 2, 3])
    #expect("\(1.5)" == "1.5")
  }
}
