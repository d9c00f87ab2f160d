import AuthorityChecks
import FuzzSupport

/// What libFuzzer calls with each input that it has thought of.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzAuthority(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  fuzz(start, count, AuthorityCheck.check)
}
