import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { defaultAgentLimits } from "@reins/base/base/AgentLimits"
import * as Container from "@reins/machine/executor/Container"
import * as Engine from "@reins/machine/executor/container/Engine"
import { entry, preface, unnameable } from "@reins/machine/executor/container/Entry"
import type { ContainerOptions } from "@reins/machine/executor/container/Probe"
import { profileOf } from "@reins/machine/executor/container/SeccompProfile"
import { answers, filterOf } from "@reins/machine/executor/sandbox/Seccomp"
import { denied, judged, numberOn } from "@reins/machine/executor/sandbox/Syscalls"
import { anyText } from "@reins/testing/AnyText"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { eventually } from "@reins/testing/process/Waiting"
import { Chunk, Effect, Either, Stream } from "effect"
import * as fc from "fast-check"
import { answerOf } from "./FilterMachine.js"

const image = process.env["REINS_TEST_CONTAINER_IMAGE"] ?? null
const engine = process.env["REINS_TEST_CONTAINER_ENGINE"] === "docker" ? "docker" : "podman"
const mebibyte = 1024 ** 2
const digest = `sha256:${"0".repeat(64)}`

const cacheDir = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-container-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const reasonOf = (options: Partial<ContainerOptions>) =>
  Effect.gen(function* () {
    const given = { image: digest, engine: null, cacheDir: yield* cacheDir, ...options }
    return (yield* Effect.flip(Container.make("boot_reason", given))).message
  }).pipe(Effect.scoped)

describe("what an executor of containers needs", () => {
  it.effect("is an image by its digest; anything else is refused in one sentence", () =>
    Effect.gen(function* () {
      assert.match(yield* reasonOf({ image: null }), /needs an image: --container-image .+ by its digest/)
      for (const named of ["node", "node:22", `node@${digest}0`, "node@sha256:12", `--rm@${digest}`, `node @${digest}`])
        assert.match(yield* reasonOf({ image: named }), /not named by a digest, so its files could change/, named)
    })
  )

  it.effect("is a user that is not root", () =>
    Effect.gen(function* () {
      const reason = yield* reasonOf({})
      if (process.getuid?.() === 0) assert.match(reason, /as root, an agent would be root in its container/)
      else assert.notMatch(reason, /as root/)
    })
  )

  it("is told for each of the ways in which engines fail, with what can be done", () => {
    const failures: ReadonlyArray<readonly [said: string, told: RegExp]> = [
      ["ENOENT", /podman does not work here: it is not installed, .+apt-get install podman\.$/],
      ["Error: could not find init binary: stat /usr/libexec/podman/catatonit", /apt-get install catatonit/],
      [
        'level=error msg="cannot find UID/GID for user nobody: no subuid ranges found for user"\nError: x',
        /rootless containers are not set up.+usermod --add-subuids/
      ],
      ["Error: command required for rootless mode with multiple IDs: exec: newuidmap: not found", /install uidmap/],
      ["Error: cannot re-exec process to join the existing user namespace", /allows no user namespaces/],
      ["Error: creating runtime static files directory: mkdir /run/user/995: permission denied", /XDG_RUNTIME_DIR/],
      ["Error: OCI runtime error: crun: cgroups in hybrid mode not supported", /unified_cgroup_hierarchy=1/],
      ["Error: unknown flag: --no-healthcheck", /its version is too old/],
      ["Cannot connect to the Docker daemon at unix:///var/run/docker.sock.", /its daemon does not answer/],
      ["Error: something else", /does not work here: Error: something else\.$/]
    ]
    for (const [said, told] of failures) assert.match(Engine.unavailable("podman", said).message, told)
  })
})

describe("the way of an environment into a container", () => {
  const text = anyText().map((value) => value.replaceAll("\0", ""))
  const name = fc
    .stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/)
    .filter((each) => !/^(?:PWD|OLDPWD|SHLVL|_|IFS|PATH|PS\d|PPID|OPTIND|LC_\w*|LANG)$/.test(each))

  it("is its input, and every value arrives as it was (property)", () => {
    fc.assert(
      fc.property(fc.dictionary(name, text, { maxKeys: 5 }), (environment) => {
        const words = entry([], ["/bin/sh", "-c", "cat; env -0; exit 3"])
        const { status, stdout } = spawnSync("/usr/bin/env", words, {
          input: `${preface({ PATH: "/usr/bin:/bin", ...environment })}rest\n`
        })
        assert.strictEqual(status, 3)
        assert.isTrue(stdout.toString().startsWith("rest\n"))
        const seen = stdout.subarray(5).toString().split("\0")
        for (const [key, value] of Object.entries(environment))
          assert.include(seen, Buffer.from(`${key}=${value}`).toString())
      }),
      { numRuns: 20 }
    )
  })

  it("takes names of shells alone", () => {
    assert.deepStrictEqual(unnameable({ GOOD_1: "", "not-good": "", "1": "", "a b": "" }), ["1", "not-good", "a b"])
  })
})

interface Rule {
  readonly names: ReadonlyArray<string>
  readonly action: string
  readonly errnoRet?: number
  readonly args: ReadonlyArray<{ readonly index: number; readonly value: number; readonly valueTwo: number }>
}

/** The answer of a profile as libseccomp gives it: that of the rules that hold, and the default without one. */
const answerByProfile = (
  rules: ReadonlyArray<Rule>,
  name: string,
  args: ReadonlyArray<bigint>
): ReadonlyArray<number> => {
  const holding = rules.filter(
    (rule) =>
      rule.names.includes(name) &&
      rule.args.every(({ index, value, valueTwo }) => ((args[index] ?? 0n) & BigInt(value)) === BigInt(valueTwo))
  )
  const found = holding.map(({ action, errnoRet = 0 }) =>
    action === "SCMP_ACT_ALLOW" ? answers.allow : 0x00050000 | errnoRet
  )
  return found.length === 0 ? [answers.unknown] : [...new Set(found)]
}

for (const machine of ["x64", "arm64"] as const) {
  it(`the profile of engines answers as the filter of the sandbox for ${machine} (property)`, () => {
    const { syscalls } = JSON.parse(profileOf(machine)) as { readonly syscalls: ReadonlyArray<Rule> }
    const program = filterOf(machine)
    const numbers = { ...denied, ...judged }
    const word = fc.oneof(
      fc.constantFrom(0n, 1n, 2n, 10n, 16n, 17n, 0x5412n, 0x541cn, 0x5413n, 0x11n, 0x20000n, 0x10000000n, 0x7e020000n),
      fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })
    )
    // The kernel reads the low word of the arguments that decide, so the high one may be anything.
    const argument = fc.tuple(word, fc.constantFrom(0n, 1n, 0xffffffffn)).map(([low, high]) => low + (high << 32n))
    const call = fc.tuple(fc.constantFrom(...Object.keys(numbers)), fc.array(argument, { minLength: 3, maxLength: 3 }))
    fc.assert(
      fc.property(call, ([name, args]) => {
        const of = Object.entries(numbers).find(([each]) => each === name)?.[1]
        const number = of === undefined ? null : numberOn(machine, of)
        if (number === null) return
        assert.deepStrictEqual(answerByProfile(syscalls, name, args), [answerOf(machine, program, { number, args })])
      }),
      { numRuns: 3000 }
    )
    assert.deepStrictEqual(answerByProfile(syscalls, "read", []), [answers.allow])
    assert.deepStrictEqual(answerByProfile(syscalls, "newer_than_all", []), [answers.unknown])
  })
}

/** A relay that answers with a word. */
const relay = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => unknown }>((resume) => {
    const server = createServer((socket) => socket.on("error", () => undefined).end("relay\n"))
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** The cgroup that holds a process to processors, of either version. */
const cgroupOf = (pid: string): string => {
  const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8")
  const [, first] = /^\d+:cpu(?:,cpuacct)?:(.*)$/m.exec(lines) ?? []
  return first === undefined
    ? join("/sys/fs/cgroup", /^0::(.*)$/m.exec(lines)?.[1] ?? "")
    : join("/sys/fs/cgroup/cpu", first)
}

// The chaos suite runs this file as a user with an engine and an image, and Executors.test.ts fails there without them.
if (image !== null) {
  describe("the executor container on this machine", () => {
    const made = (changes: Partial<ContainerOptions> = {}) =>
      Effect.flatMap(cacheDir, (path) =>
        Container.make("boot_container_test", { image, engine, cacheDir: path, ...changes })
      )

    const outputOf = Effect.fnUntraced(function* (
      script: string,
      changes: Parameters<Effect.Effect.Success<typeof shellCommand>>[1] = {}
    ) {
      const make = yield* shellCommand
      const agent = yield* (yield* made()).spawn(make(script, changes))
      return Chunk.toReadonlyArray(yield* Stream.runCollect(agent.lines))
    })

    it.scopedLive("an agent has the variables of its image and of its turn, and the engine keeps none of them", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const environment = { SECRET: "line\nwith \\ canary-of-a-secret" }
        const agent = yield* (yield* made()).spawn(
          make("env | grep -e IMAGE -e canary; echo .; exec tail -f /dev/null", { environment })
        )
        const lines = yield* Stream.runCollect(Stream.takeUntil(agent.lines, (line) => line === "."))
        assert.deepStrictEqual([...lines], ["IMAGE_SAYS=hello", "with \\ canary-of-a-secret", "."])
        const { stdout } = yield* Engine.runEngine(engine, [
          "ps",
          "--quiet",
          "--no-trunc",
          "--filter",
          "label=reins.boot=boot_container_test"
        ])
        const [id = ""] = stdout.split("\n")
        const inspected = yield* Engine.runEngine(engine, ["inspect", id])
        assert.include(inspected.stdout, "reins.lease")
        assert.notInclude(inspected.stdout, "canary-of-a-secret")
        assert.notInclude(readFileSync(`/proc/${agent.pid}/cmdline`, "utf8"), "canary-of-a-secret")
      })
    )

    it.scopedLive("an agent reaches its relay, and its limits are those of the settings", () =>
      Effect.gen(function* () {
        const { port } = yield* relay
        const script = `exec bash -c 'read go; exec 3<>/dev/tcp/127.0.0.1/${port}; head -n 1 <&3; ulimit -n; ulimit -f; stat -f -c %b*%S /tmp'`
        const make = yield* shellCommand
        const limits = {
          ...defaultAgentLimits,
          openFiles: 777,
          diskBytes: 1024 * 1024,
          temporaryBytes: 2 * 1024 * 1024
        }
        const agent = yield* (yield* made({ limits })).spawn(make(script, { relayPorts: [port] }))
        yield* agent.write("go")
        assert.deepStrictEqual([...(yield* Stream.runCollect(agent.lines))], ["relay", "777", "1024", "512*4096"])
      })
    )

    it.scopedLive("the init of a container has no more rights than its agent", () =>
      Effect.map(
        outputOf("for n in 1 self; do grep -E '^(Uid|Gid|Groups|NoNewPrivs|Seccomp|Cap...):' /proc/$n/status; done"),
        (lines) => {
          const half = lines.length / 2
          assert.includeMembers([...lines], ["Seccomp:\t2", "NoNewPrivs:\t1", `CapEff:\t${"0".repeat(16)}`])
          assert.deepStrictEqual(lines.slice(0, half), lines.slice(half))
        }
      )
    )

    it.scopedLive("the limits that the catalog names hold, and an engine without cgroups names none", () =>
      Effect.gen(function* () {
        const limits = { ...defaultAgentLimits, memoryBytes: 128 * mebibyte, processes: 64, processors: 0.5 }
        const executor = yield* made({ limits })
        const { limits: held } = executor.isolation
        const by = [held?.memory_bytes, held?.processes, held?.processors].map((each) => each?.enforced_by)
        if (engine === "podman") {
          assert.deepStrictEqual(by, [null, "rlimit", null])
          return
        }
        assert.match(by.join(), /^(cgroup_v[12]),\1,\1$/)
        const ended = Effect.fnUntraced(function* (script: string) {
          const agent = yield* executor.spawn((yield* shellCommand)(script))
          return { lines: [...(yield* Stream.runCollect(agent.lines))], exit: yield* agent.exit }
        })
        const tool = yield* ended("perl -e '$x = \"x\" x 400000000'; echo $?; perl -e '$x = \"x\" x 40000000'; echo $?")
        assert.deepStrictEqual(tool, { lines: ["137", "0"], exit: { code: 0, signal: null } })
        const { exit } = yield* ended("exec perl -e '$x = \"x\" x 400000000'")
        assert.strictEqual(exit.signal, "SIGKILL")
        assert.match(exit.reason ?? "", /most likely because it needed more than the 128 MiB of memory/)

        const forking =
          "my @p; while (@p < 200) { my $p = fork; last unless defined $p; $p or sleep; push @p, $p } kill KILL => @p; print @p + 0"
        const [forked] = (yield* ended(`perl -e '${forking}'`)).lines
        assert.isAtLeast(Number(forked), 8)
        assert.isBelow(Number(forked), 64)

        const busy = yield* executor.spawn((yield* shellCommand)("echo ready; while :; do :; done"))
        yield* Stream.runHead(busy.lines)
        const { stdout: id } = yield* Engine.runEngine(engine, [
          "ps",
          "--quiet",
          "--filter",
          "label=reins.boot=boot_container_test"
        ])
        const { stdout: pid } = yield* Engine.runEngine(engine, ["inspect", "--format", "{{.State.Pid}}", id.trim()])
        const stat = join(cgroupOf(pid.trim()), "cpu.stat")
        const heldBack = () => Number(/^nr_throttled (\d+)$/m.exec(readFileSync(stat, "utf8"))?.[1]) > 10
        yield* Effect.promise(() => eventually("it is held back for 10 periods", heldBack))
      })
    )

    it.scopedLive("an agent whose files grow too large is ended with the reason", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const small = yield* made({ limits: { ...defaultAgentLimits, diskBytes: 1024 * 1024 } })
        const agent = yield* small.spawn(
          make("for n in 1 2 3; do head -c 1000000 /dev/zero >$n; done; exec tail -f /dev/null")
        )
        assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
        assert.match((yield* agent.exit).reason ?? "", /ended because it may have 1 MiB of files, and took 3 MiB/)
      })
    )

    it.scopedLive("a long line arrives whole", () =>
      Effect.map(outputOf("head -c 8000000 /dev/zero | tr '\\0' x; echo; echo end"), ([line = "", end]) => {
        assert.deepStrictEqual([line.length, end], [8_000_000, "end"])
      })
    )

    it.scopedLive("a polite request reaches the agent, and a signal that ends it is told as that signal", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* made()
        const script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        const agent = yield* executor.spawn(make(script, { stop: { stdin_eof_ms: 50, sigterm_ms: 10_000 } }))
        const lines = yield* Effect.fork(Stream.runCollect(Stream.tap(agent.lines, () => Effect.fork(agent.stop()))))
        assert.deepStrictEqual([...(yield* lines)], ["ready", "bye"])
        assert.deepStrictEqual(yield* agent.exit, { code: 5, signal: null })
        const fallen = yield* executor.spawn(make("kill -SEGV $$"))
        assert.deepStrictEqual(yield* fallen.exit, { code: null, signal: "SIGSEGV" })
      })
    )

    it.scopedLive("a name that no shell has, a path that no engine takes and an image that is not there are told", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* made()
        const failed = (changes: Parameters<typeof make>[1]) =>
          Effect.flip(Effect.scoped(executor.spawn(make("true", changes))))
        assert.match((yield* failed({ environment: { "a-b": "c" } })).message, /variables a-b, because their names/)
        assert.match((yield* failed({ programDirs: ["/tmp/a,b"] })).message, /cannot be given the path "\/tmp\/a,b"/)
        const absent = yield* Effect.flip(made({ image: `localhost/absent@${digest}` }))
        assert.match(
          absent.message,
          new RegExp(`^The container engine ${engine} does not have the image: run ${engine} pull localhost/absent@`)
        )
        const other = yield* Effect.either(made({ engine: engine === "podman" ? "docker" : "podman" }))
        assert.isTrue(Either.isLeft(other))
      })
    )

    it.scopedLive("what a boot has left is swept, and nothing of another boot", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const executor = yield* made()
        const agent = yield* executor.spawn(make("echo ready; exec tail -f /dev/null"))
        yield* Stream.runHead(agent.lines)
        assert.strictEqual(yield* executor.sweep?.(["boot_of_another"]) ?? Effect.succeed(-1), 0)
        assert.strictEqual(yield* executor.sweep?.(["boot_container_test"]) ?? Effect.succeed(-1), 1)
        assert.strictEqual((yield* agent.exit).signal, "SIGKILL")
      })
    )
  })
}
