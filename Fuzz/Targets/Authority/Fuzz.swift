import AuthorityChecks
import FuzzSupport

/// The function that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAuthority(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, AuthorityCheck.check)
}
