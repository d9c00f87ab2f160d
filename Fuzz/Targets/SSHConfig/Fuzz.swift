import FuzzSupport
import SSHChecks

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSSHConfig(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, SSHConfigCheck.check)
}
