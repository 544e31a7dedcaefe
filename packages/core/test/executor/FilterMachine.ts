import { architectures, type Machine } from "@reins/machine/executor/sandbox/Syscalls"

export interface Call {
  readonly architecture?: number
  readonly number: number
  readonly args?: ReadonlyArray<number | bigint>
}

/** Runs a filter as the kernel does: the instructions of classic BPF that it uses, over the data of one call. */
export const answerOf = (
  machine: Machine,
  filter: Uint8Array,
  { architecture = architectures[machine], args = [], number }: Call
): number => {
  const program = Buffer.from(filter)
  const data = new DataView(new ArrayBuffer(64))
  data.setUint32(0, number, true)
  data.setUint32(4, architecture, true)
  for (const [index, value] of args.entries())
    data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, BigInt(value)), true)
  let accumulator = 0
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at)
    const [ifTrue = 0, ifFalse = 0] = [program[at + 2], program[at + 3]]
    const value = program.readUInt32LE(at + 4)
    const jump = (holds: boolean) => {
      at += 8 * (holds ? ifTrue : ifFalse)
    }
    if (code === 0x06) return value
    if (code === 0x20) accumulator = data.getUint32(value, true)
    else if (code === 0x15) jump(accumulator === value)
    else if (code === 0x25) jump(accumulator > value)
    else if (code === 0x45) jump((accumulator & value) !== 0)
    else throw new Error(`an instruction that no filter has: ${code}`)
  }
  throw new Error("the filter ends without an answer")
}
