import { denied, type Machine } from "../sandbox/Syscalls.js"
import { knownCalls } from "./KnownCalls.js"

const architectures: Readonly<Record<Machine, string>> = { x64: "SCMP_ARCH_X86_64", arm64: "SCMP_ARCH_AARCH64" }

const errors = { forbidden: 1, unknown: 38, noFamily: 97 } as const

/** True where the bits of the mask in an argument of the call are those of the value. */
interface Condition {
  readonly index: number
  readonly value: number
  readonly valueTwo: number
  readonly op: "SCMP_CMP_MASKED_EQ"
}

interface Rule {
  readonly names: ReadonlyArray<string>
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO"
  readonly errnoRet?: number
  readonly args: ReadonlyArray<Condition>
}

const allow = (names: ReadonlyArray<string>, ...args: ReadonlyArray<Condition>): Rule => ({
  names,
  action: "SCMP_ACT_ALLOW",
  args
})

const refuse = (names: ReadonlyArray<string>, errnoRet: number, ...args: ReadonlyArray<Condition>): Rule => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args
})

const masked = (index: number, mask: number, value: number): Condition => ({
  index,
  value: mask,
  valueTwo: value,
  op: "SCMP_CMP_MASKED_EQ"
})

/** The argument is the value. The kernel reads the low word of these arguments, so the high one decides nothing here either. */
const is = (index: number, value: number): Condition => masked(index, 0xffffffff, value)

/** Conditions of which one holds when the low word of an argument is none of the values. */
const isNone = (index: number, values: ReadonlyArray<number>, bit = 31, mask = 0, prefix = 0): Array<Condition> => {
  if (values.length === 0) return [masked(index, mask, prefix)]
  if (bit < 0) return []
  return [0, 1].flatMap((side) =>
    isNone(
      index,
      values.filter((value) => ((value >>> bit) & 1) === side),
      bit - 1,
      mask + 2 ** bit,
      prefix + side * 2 ** bit
    )
  )
}

/** The flags of `clone` that make a namespace. */
const namespaces = [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
/** Requests that put characters into a terminal as if they had been typed. */
const terminalInput = [0x5412, 0x541c]
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const

const judged: ReadonlyArray<Rule> = [
  refuse(["clone3"], errors.unknown),
  allow(
    ["clone"],
    masked(
      0,
      namespaces.reduce((sum, flag) => sum + flag),
      0
    )
  ),
  ...namespaces.map((flag) => refuse(["clone"], errors.forbidden, masked(0, flag, flag))),
  ...[families.unix, families.inet, families.inet6].map((family) => allow(["socket"], is(0, family))),
  allow(["socket"], is(0, families.netlink), is(2, 0)),
  ...isNone(2, [0]).map((other) => refuse(["socket"], errors.noFamily, is(0, families.netlink), other)),
  ...isNone(0, Object.values(families)).map((other) => refuse(["socket"], errors.noFamily, other)),
  ...isNone(1, terminalInput).map((other) => allow(["ioctl"], other)),
  ...terminalInput.map((request) => refuse(["ioctl"], errors.forbidden, is(1, request))),
  allow(["prlimit64"], is(0, 0)),
  ...isNone(0, [0]).map((other) => refuse(["prlimit64"], errors.forbidden, other))
]

/** The filter of `sandbox/Seccomp.ts` as the profile of a container engine. A call that it does not know is answered as on an older kernel. */
export const profileOf = (machine: Machine): string =>
  JSON.stringify({
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: errors.unknown,
    architectures: [architectures[machine]],
    syscalls: [refuse(Object.keys(denied), errors.forbidden), allow(knownCalls), ...judged]
  })

/** The profile of this machine; undefined where there is none. */
export const profileHere = (): string | undefined =>
  process.arch === "x64" || process.arch === "arm64" ? profileOf(process.arch) : undefined
