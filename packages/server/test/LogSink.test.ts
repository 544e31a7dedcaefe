import { execFileSync } from "node:child_process"
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LogSink } from "@reins/server/LogSink"
import fc from "fast-check"
import { afterEach, assert, describe, it } from "vitest"

/** A line about a gap. Its full stop tells it from one that was cut. */
const gapLine = (lines: number, code: string): string => `gap ${lines} ${code}.\n`

/** The answer of the system to a write: it takes so many bytes, or refuses all of them. */
type Outcome = number | "EAGAIN" | "EPIPE" | "ENOSPC" | "EIO"

const refusal = (code: string): Error => Object.assign(new Error(code), { code })

/** The numbers of the lines that a reader finds, and the sizes of the gaps between them. A cut line has no place in the order. */
const read = (text: string) =>
  text.split("\n").flatMap((line): Array<{ readonly line: number } | { readonly gap: number }> => {
    const [, number] = /^<(\d+)>x*\.$/.exec(line) ?? []
    if (number !== undefined) return [{ line: Number(number) }]
    const [, gap] = /^gap (\d+) [A-Z]+\.$/.exec(line) ?? []
    return gap === undefined ? [] : [{ gap: Number(gap) }]
  })

describe("the end of the log", () => {
  it("has every line in its order, or a number of those that are missing in their place, whatever the system does", () => {
    const outcome: fc.Arbitrary<Outcome> = fc.oneof(
      fc.integer({ min: 1, max: 200_000 }),
      fc.constantFrom<Outcome>("EAGAIN", "EPIPE", "ENOSPC", "EIO")
    )
    const act = fc.oneof(
      fc.record({ lines: fc.integer({ min: 1, max: 4 }), length: fc.constantFrom(0, 10, 200_000) }),
      fc.constant("flush" as const)
    )
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), fc.array(outcome, { maxLength: 30 }), (acts, outcomes) => {
        let written = ""
        const left = [...outcomes]
        const sink = new LogSink((bytes) => {
          const next = left.shift() ?? bytes.length
          if (typeof next === "string") throw refusal(next)
          written += Buffer.from(bytes.subarray(0, next)).toString("latin1")
          return Math.min(next, bytes.length)
        }, gapLine)
        let count = 0
        for (const each of acts)
          if (each === "flush") sink.flush()
          else sink.take(Array.from({ length: each.lines }, () => `<${count++}>${"x".repeat(each.length)}.\n`).join(""))
        while (left.length > 0) {
          const before = left.length
          sink.flush()
          if (left.length === before) break
        }
        left.length = 0
        sink.flush()
        let expected = 0
        for (const found of read(written)) {
          if ("gap" in found) expected += found.gap
          else assert.strictEqual(found.line, expected++)
        }
        assert.strictEqual(expected, count)
      }),
      { numRuns: 100 }
    )
  })

  it("writes the lines of one moment at once, and keeps a burst back no longer", async () => {
    const writes: Array<string> = []
    let wrote: () => void = () => undefined
    const first = new Promise<void>((resolve) => {
      wrote = resolve
    })
    const sink = new LogSink((bytes) => {
      writes.push(Buffer.from(bytes).toString())
      wrote()
      return bytes.length
    }, gapLine)
    for (let line = 0; line < 100; line++) sink.take(`${line}\n`)
    assert.deepStrictEqual(writes, [])
    await first
    assert.deepStrictEqual(writes, [Array.from({ length: 100 }, (_, line) => `${line}\n`).join("")])
    sink.take(`${"x".repeat(70_000)}\n`)
    assert.lengthOf(writes, 2)
  })

  it("keeps a bounded part for a reader that reads nothing", () => {
    let most = 0
    const sink = new LogSink((bytes) => {
      most = Math.max(most, bytes.length)
      throw refusal("EAGAIN")
    }, gapLine)
    for (let line = 0; line < 100; line++) {
      sink.take(`${"x".repeat(100_000)}\n`)
      sink.flush()
    }
    assert.isBelow(most, 2_500_000)
  })

  describe("on a named pipe", () => {
    const directory = mkdtempSync(join(tmpdir(), "reins-log-"))
    const path = join(directory, "log")
    execFileSync("mkfifo", [path])
    const open: Array<number> = []
    afterEach(() => {
      for (const file of open.splice(0)) closeSync(file)
      rmSync(directory, { recursive: true, force: true })
    })
    const reader = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)

    it("tells the next reader how many lines nobody has read", () => {
      const first = reader()
      const end = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
      open.push(end)
      const sink = new LogSink((bytes) => writeSync(end, bytes), gapLine)
      const bytes = Buffer.alloc(1000)
      sink.take("one\n")
      sink.flush()
      assert.strictEqual(bytes.toString("utf8", 0, readSync(first, bytes)), "one\n")
      closeSync(first)
      for (const line of ["two\n", "three\n"]) {
        sink.take(line)
        sink.flush()
      }
      const second = reader()
      open.push(second)
      sink.take("four\n")
      sink.flush()
      assert.strictEqual(bytes.toString("utf8", 0, readSync(second, bytes)), "gap 2 EPIPE.\nfour\n")
    })
  })
})
