import { assert, describe, it } from "@effect/vitest"
import { answers, filterOf } from "@reins/machine/executor/sandbox/Seccomp"
import { architectures, denied, judged, type Machine, newest, numberOn } from "@reins/machine/executor/sandbox/Syscalls"
import { type Call, answerOf as runFilter } from "./FilterMachine.js"

const answerOf = (machine: Machine, call: Call): number => runFilter(machine, filterOf(machine), call)

/** Calls that every program makes, by their numbers on both machines. */
const ordinary = {
  read: [0, 63],
  write: [1, 64],
  openat: [257, 56],
  close: [3, 57],
  mmap: [9, 222],
  execve: [59, 221],
  futex: [202, 98],
  connect: [42, 203],
  epoll_pwait: [281, 22],
  exit_group: [231, 94],
  getrandom: [318, 278],
  pidfd_open: [434, 434]
} as const

for (const machine of ["x64", "arm64"] as const) {
  describe(`the filter on system calls for ${machine}`, () => {
    const numberOf = (name: keyof typeof judged) => numberOn(machine, judged[name]) ?? -1

    it("lets ordinary calls through and refuses each of the table", () => {
      for (const [name, numbers] of Object.entries(ordinary))
        assert.strictEqual(answerOf(machine, { number: numberOn(machine, numbers) ?? -1 }), answers.allow, name)
      for (const [name, numbers] of Object.entries(denied)) {
        const number = numberOn(machine, numbers)
        if (number !== null) assert.strictEqual(answerOf(machine, { number }), answers.forbidden, name)
      }
    })

    it("has each number once, and none that is newer than the table", () => {
      const all = [...Object.values(denied), ...Object.values(judged)].flatMap(
        (numbers) => numberOn(machine, numbers) ?? []
      )
      assert.strictEqual(new Set(all).size, all.length)
      assert.isAtMost(Math.max(...all), newest)
    })

    it("ends what speaks for another machine, and hides calls that are newer or of another kind", () => {
      const other = machine === "x64" ? architectures.arm64 : architectures.x64
      assert.strictEqual(answerOf(machine, { number: 0, architecture: other }), answers.kill)
      assert.strictEqual(answerOf(machine, { number: 0, architecture: 0x40000003 }), answers.kill)
      for (const number of [newest + 1, 0x40000000, 0xffffffff])
        assert.strictEqual(answerOf(machine, { number }), answers.unknown)
    })

    it("lets threads and processes be made, and no namespaces", () => {
      const clone = (flags: number) => answerOf(machine, { number: numberOf("clone"), args: [flags] })
      assert.deepStrictEqual([0x11, 0x3d0f00].map(clone), [answers.allow, answers.allow])
      for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
        assert.strictEqual(clone(flag | 0x11), answers.forbidden)
      assert.strictEqual(answerOf(machine, { number: numberOf("clone3") }), answers.unknown)
    })

    it("lets sockets of loopback and of the machine's own addresses be made, and no others", () => {
      const socket = (...args: ReadonlyArray<number>) => answerOf(machine, { number: numberOf("socket"), args })
      for (const family of [1, 2, 10]) assert.strictEqual(socket(family, 1, 6), answers.allow)
      assert.strictEqual(socket(16, 3, 0), answers.allow)
      for (const [family, protocol] of [
        [16, 9],
        [16, 12],
        [17, 0],
        [38, 0],
        [40, 0],
        [44, 0],
        [0, 0]
      ] as const)
        assert.strictEqual(socket(family, 3, protocol), answers.noFamily)
    })

    it("looks at the requests to terminals and at whose limits are changed", () => {
      const ioctl = (request: number) => answerOf(machine, { number: numberOf("ioctl"), args: [0, request] })
      assert.deepStrictEqual([0x5401, 0x5413].map(ioctl), [answers.allow, answers.allow])
      assert.deepStrictEqual([0x5412, 0x541c].map(ioctl), [answers.forbidden, answers.forbidden])
      const limits = (pid: number) => answerOf(machine, { number: numberOf("prlimit64"), args: [pid] })
      assert.deepStrictEqual([limits(0), limits(1), limits(-1)], [answers.allow, answers.forbidden, answers.forbidden])
    })
  })
}
