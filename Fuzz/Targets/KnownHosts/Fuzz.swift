import FuzzSupport
import SSHChecks

/// What libFuzzer calls with each input that it has thought of.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzKnownHosts(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, KnownHostsCheck.check)
}
