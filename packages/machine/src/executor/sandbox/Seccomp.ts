import { architectures, denied, judged, type Machine, newest, numberOn } from "./Syscalls.js"

/** The answers of the filter, as the kernel reads them. */
export const answers = {
  allow: 0x7fff0000,
  kill: 0x80000000,
  /** EPERM */
  forbidden: 0x00050000 | 1,
  /** ENOSYS */
  unknown: 0x00050000 | 38,
  /** EAFNOSUPPORT */
  noFamily: 0x00050000 | 97
} as const

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

// Classic BPF over `struct seccomp_data`: the number is at 0, the architecture at 4, and the low word of argument n at 16 + 8n.
const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const answer = (value: number): Instruction => [0x06, 0, 0, value]
const skipUnless = (value: number, count: number): Instruction => [0x15, 0, count, value]
const skipIf = (value: number, count: number): Instruction => [0x15, count, 0, value]
const skipUnlessAbove = (value: number, count: number): Instruction => [0x25, 0, count, value]
const skipUnlessAny = (bits: number, count: number): Instruction => [0x45, 0, count, bits]
const argument = (index: number): Instruction => load(16 + 8 * index)

/** The flags of `clone` that make a namespace. */
const namespaces = 0x7e020000
/** Requests that put characters into a terminal as if they had been typed. */
const terminalInput = [0x5412, 0x541c] as const
const families = { unix: 1, inet: 2, netlink: 16, inet6: 10 } as const

/** The instructions for one call, which end with an answer. They are passed over for any other call. */
const forCall = (number: number, body: ReadonlyArray<Instruction>): ReadonlyArray<Instruction> => [
  skipUnless(number, body.length),
  ...body
]

const judge = (machine: Machine): ReadonlyArray<Instruction> => {
  const number = (name: keyof typeof judged): number => numberOn(machine, judged[name]) ?? 0
  return [
    // The flags of clone3 are in memory, where a filter cannot look. Without it, programs take clone.
    ...forCall(number("clone3"), [answer(answers.unknown)]),
    ...forCall(number("clone"), [
      argument(0),
      skipUnlessAny(namespaces, 1),
      answer(answers.forbidden),
      answer(answers.allow)
    ]),
    // Other families, such as those of virtual machines (AF_VSOCK), are not divided by namespaces. Netlink is for the own addresses alone.
    ...forCall(number("socket"), [
      argument(0),
      skipIf(families.unix, 6),
      skipIf(families.inet, 5),
      skipIf(families.inet6, 4),
      skipUnless(families.netlink, 2),
      argument(2),
      skipIf(0, 1),
      answer(answers.noFamily),
      answer(answers.allow)
    ]),
    ...forCall(number("ioctl"), [
      argument(1),
      skipIf(terminalInput[0], 1),
      skipUnless(terminalInput[1], 1),
      answer(answers.forbidden),
      answer(answers.allow)
    ]),
    // The limits of other processes are marks of the service.
    ...forCall(number("prlimit64"), [argument(0), skipIf(0, 1), answer(answers.forbidden), answer(answers.allow)])
  ]
}

const instructionsOf = (machine: Machine): ReadonlyArray<Instruction> => [
  load(4),
  skipIf(architectures[machine], 1),
  answer(answers.kill),
  load(0),
  skipUnlessAbove(newest, 1),
  answer(answers.unknown),
  ...Object.values(denied).flatMap((numbers) => {
    const number = numberOn(machine, numbers)
    return number === null ? [] : forCall(number, [answer(answers.forbidden)])
  }),
  ...judge(machine),
  answer(answers.allow)
]

/** The filter for the agents of a machine, as `bwrap --seccomp` reads it: classic BPF in the byte order of both machines. */
export const filterOf = (machine: Machine): Uint8Array => {
  const instructions = instructionsOf(machine)
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8))
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true)
    bytes.setUint8(index * 8 + 2, ifTrue)
    bytes.setUint8(index * 8 + 3, ifFalse)
    bytes.setUint32(index * 8 + 4, value >>> 0, true)
  }
  return new Uint8Array(bytes.buffer)
}

/** The filter of this machine; undefined where there is none. */
export const filterHere = (): Uint8Array | undefined =>
  process.arch === "x64" || process.arch === "arm64" ? filterOf(process.arch) : undefined
