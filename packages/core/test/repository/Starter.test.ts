import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import type { Program, StartedProgram } from "@reins/machine/repository/run/StartedProgram"
import { endStarter, startProgram } from "@reins/machine/repository/run/Starter"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import { temporary } from "@reins/testing/git/Fixture"
import { eventually } from "@reins/testing/process/Waiting"
import { isSoak } from "@reins/testing/Volume"
import { Effect } from "effect"
import { build } from "esbuild"

const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }

interface Ended {
  readonly code: number | null | "failed"
  readonly stdout: Buffer
  readonly stderr: string
}

/** Starts a program, and gives its end beside it. */
const begin = (
  given: Partial<Program> & Pick<Program, "file" | "args">,
  onStdout?: (running: StartedProgram) => void
) => {
  const stdout: Array<Buffer> = []
  const stderr: Array<Buffer> = []
  let finish: (ended: Ended) => void
  const ended = new Promise<Ended>((resolve) => {
    finish = resolve
  })
  const end = (code: Ended["code"]) =>
    finish({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() })
  const running: StartedProgram = startProgram(
    { cwd: "/", env, input: new Uint8Array(), ...given },
    {
      stdout: (chunk) => {
        stdout.push(chunk)
        onStdout?.(running)
      },
      stderr: (chunk) => stderr.push(chunk),
      failed: () => end("failed"),
      closed: end
    }
  )
  return { running, ended }
}

const shell = (script: string, ...args: ReadonlyArray<string>) => ({ file: "sh", args: ["-c", script, "sh", ...args] })

/** The process that starts programs for this one, once there is one. */
const starterPid = () =>
  eventually("a small process starts programs", async () => {
    const { stdout } = await begin(shell("echo $PPID")).ended
    const parent = Number(stdout.toString())
    return parent === process.pid ? undefined : parent
  })

const processesNamed = (name: string) => processesWhere((pid) => shown(pid, "cmdline").includes(name))

const name = (): string => `reins-started-${process.pid}-${performance.now()}`

describe("a program that the small process starts", () => {
  beforeAll(starterPid)

  it("gets its arguments, environment, directory and input, and tells its output and its code", async () => {
    const { ended } = begin({
      file: "sh",
      args: ["-c", 'printf "%s|" "$1" "$WORD" "$(pwd)" "$(cat)"; echo bad >&2; exit 3', "sh", "an argument\n"],
      cwd: "/usr",
      env: { ...env, WORD: "wörd" },
      input: Buffer.from("input")
    })
    const { code, stderr, stdout } = await ended
    assert.deepStrictEqual([code, stderr, stdout.toString()], [3, "bad\n", "an argument\n|wörd|/usr|input|"])
  })

  it("passes 30 MB through in pieces, unchanged", async () => {
    const pieces = Array.from({ length: 300 }, (_, at) => Buffer.alloc(100_000, at))
    const { ended, running } = begin({ file: "cat", args: [], input: undefined })
    await pipeline(Readable.from(pieces), running.stdin)
    assert.isTrue((await ended).stdout.equals(Buffer.concat(pieces)))
  })

  for (const [what, command] of [
    ["output", "cat /dev/zero"],
    ["errors", "cat /dev/zero >&2"]
  ] as const)
    it(`waits while its owner stands still, so that the small process holds little of its ${what}`, async () => {
      const starter = await starterPid()
      const held = () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${starter}/status`, "utf8"))?.[1]) / 1024
      const before = held()
      const { ended, running } = begin(shell(`exec ${command}`), () => running.stop())
      // Nothing is read until this has ended: half a second of what `cat` can write is a gigabyte.
      spawnSync("sleep", ["0.5"])
      assert.isBelow(held() - before, 40)
      if (what === "errors") await running.end()
      assert.notStrictEqual((await ended).code, 0)
    })

  it("that reads nothing breaks the pipe, and its code tells why", async () => {
    const endless = async function* () {
      for (;;) yield Buffer.alloc(100_000)
    }
    const { ended, running } = begin({ ...shell("exit 4"), input: undefined })
    const failure = await pipeline(Readable.from(endless()), running.stdin).then(
      () => undefined,
      (cause) => cause.code
    )
    assert.include(["EPIPE", "ERR_STREAM_PREMATURE_CLOSE"], failure)
    assert.strictEqual((await ended).code, 4)
    assert.strictEqual((await begin({ ...shell("exit 5"), input: Buffer.alloc(5_000_000) }).ended).code, 5)
  })

  it("that cannot be started fails, and so does one without its directory", async () => {
    assert.strictEqual((await begin({ file: "reins-no-such-program", args: [] }).ended).code, "failed")
    assert.strictEqual((await begin({ ...shell("exit 0"), cwd: "/no/such/directory" }).ended).code, "failed")
  })

  it("is stopped, and tells no more of its output", async () => {
    const { ended } = begin({ file: "yes", args: [] }, (running) => running.stop())
    const { code, stdout } = await ended
    // Either the signal or the broken pipe ends it.
    assert.notStrictEqual(code, 0)
    assert.isBelow(stdout.length, 1024 * 1024)
  })

  it("is ended with its whole group, also where it ignores the first signal", async () => {
    const word = name()
    const { ended, running } = begin(shell(`trap "" TERM; echo up; sleep 600 & wait; sleep 600; : ${word}`))
    const both = () => processesNamed(word)
    await eventually("the program runs", () => both().length > 0)
    await running.end()
    assert.isNull((await ended).code)
    assert.deepStrictEqual(both(), [])
    await running.end()
  })

  it("ends at once where its owner asks before it is known to run", async () => {
    const { ended, running } = begin(shell("sleep 600"))
    await running.end()
    assert.isNull((await ended).code)
  })

  it("is ended by the loss of the small process, and the next one is started all the same", async () => {
    const word = name()
    const before = await starterPid()
    const { ended } = begin(shell(`echo up; sleep 600; : ${word}`))
    await eventually("the program runs", () => processesNamed(word).length > 0)
    process.kill(before, "SIGKILL")
    assert.isNull((await ended).code)
    await eventually("nothing of it runs", () => processesNamed(word).length === 0)
    assert.strictEqual((await begin(shell("echo again")).ended).stdout.toString(), "again\n")
    assert.notStrictEqual(await starterPid(), before)
  })

  it.each(isSoak ? [1, 2, 3, 4] : [1])("is ended by a loss at the moment of its start, try %d", async () => {
    const before = await starterPid()
    const word = name()
    const { ended } = begin(shell(`env -i PATH="$PATH" sh -c "sleep 600; : ${word}" & wait; : ${word}`))
    // The small process may be gone before it can tell that the program runs.
    while (processesNamed(word).length === 0);
    process.kill(before, "SIGKILL")
    assert.isNull((await ended).code)
    await eventually("nothing of it runs", () => processesNamed(word).length === 0)
    await endStarter()
  })

  it("has ended once the small process is ended in order, and another one starts the next", async () => {
    const before = await starterPid()
    const { ended } = begin(shell("sleep 600"))
    await endStarter()
    assert.isNull((await ended).code)
    assert.deepStrictEqual(
      processesWhere((pid) => pid === before),
      []
    )
    assert.notStrictEqual(await starterPid(), before)
  })

  it("shows nothing of them to whoever lists processes, and stays at the signal of a terminal", async () => {
    const pid = await starterPid()
    assert.deepStrictEqual(
      shown(pid, "environ")
        .split("\0")
        .filter(Boolean)
        .map((entry) => entry.split("=")[0]?.replace(/^NODE_.*/, "NODE")),
      ["PATH", "REINS_STARTER", "NODE", "NODE"]
    )
    assert.notInclude(shown(pid, "cmdline"), "reins-started")
    // A terminal sends it to all of its programs.
    process.kill(pid, "SIGINT")
    assert.strictEqual(await starterPid(), pid)
  })
})

it.scoped("an owner that is killed takes what the small process has started with it, and the small process", () =>
  Effect.gen(function* () {
    const root = yield* temporary
    const program = join(root, "owner.mjs")
    const word = name()
    yield* Effect.promise(async () => {
      await build({
        stdin: {
          contents: `import { startProgram } from "./Starter.ts"
            const nothing = () => undefined
            const begin = () => new Promise((resolve) => {
              let said = ""
              const taking = { stdout: (chunk) => resolve(Number.parseInt(String(chunk), 10)), stderr: nothing, failed: nothing, closed: nothing }
              const script = 'echo $PPID; test $PPID = ${"$1"} || exec cat /dev/zero'
              const input = new Uint8Array()
              startProgram({ file: "sh", args: ["-c", script, ${JSON.stringify(word)}, String(process.pid)], cwd: "/", env: process.env, input }, taking)
            })
            let parent = process.pid
            while (parent === process.pid) parent = await begin()
            console.log(parent)
            setInterval(nothing, 1000)`,
          resolveDir: join(import.meta.dirname, "../../../machine/src/repository/run")
        },
        outfile: program,
        bundle: true,
        platform: "node",
        format: "esm",
        conditions: ["@reins/source"],
        logLevel: "error"
      })
      const owner = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] })
      const [line] = await once(owner.stdout, "data")
      const starter = Number(String(line))
      assert.isAbove(processesWhere((pid) => pid === starter).length, 0)
      owner.kill("SIGKILL")
      await eventually("nothing of it runs", () => processesWhere((pid) => pid === starter).length === 0)
    })
  })
)
