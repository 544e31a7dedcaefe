import { readdirSync, readFileSync } from "node:fs"
import { cp } from "node:fs/promises"
import * as path from "node:path"
import { assert, layer } from "@effect/vitest"
import { findMarked, signal } from "@reins/machine/executor/ProcessTable"
import { Harness } from "@reins/machine/harness/Harness"
import type { HarnessEvent, HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import { Manifests } from "@reins/machine/harness/Manifests"
import { turnEvents } from "@reins/machine/harness/TurnEvents"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import { processesWhere, shown } from "@reins/testing/executor/Processes"
import {
  connection,
  filesHolding,
  installed,
  of,
  place,
  said,
  services,
  turnInput,
  turnOf
} from "@reins/testing/harness/Turns"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { type Step, script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"

const apiKey = "sk-canary-alpha-8f3a1c"

const gateway = Effect.acquireRelease(
  Effect.promise(() => startGateway({ apiKey })),
  (running) => Effect.promise(() => running.close())
)

/** A session of opencode against a gateway: `turn` runs one turn and gives its events. */
const session = Effect.gen(function* () {
  const server = yield* gateway
  const where = yield* place
  const harness = yield* Harness
  const manifest = yield* (yield* Manifests).get("alpha")
  const program = yield* installed("alpha")
  const input = (prompt: string, changes: Partial<TurnInput> = {}) =>
    turnInput(where, prompt, {
      manifest,
      installed: program,
      connection: connection({ base_url: server.url, protocol: "openai_chat" }, apiKey),
      model: "scripted-1",
      ...changes
    })
  type OnEvent = (event: HarnessEvent) => Effect.Effect<unknown>
  const told = (events: Stream.Stream<HarnessEvent, HarnessFailure>, onEvent: OnEvent = () => Effect.void) =>
    Effect.map(Stream.runCollect(Stream.tap(events, onEvent)), (all) => [...all])
  const turn = (prompt: string, changes: Partial<TurnInput> = {}, onEvent?: OnEvent) =>
    told(turnOf(harness.open)(input(prompt, changes)), onEvent)
  /** An agent for several turns, which lives as long as the scope. */
  const opened = (start: Partial<TurnInput> = {}) =>
    Effect.map(
      harness.open(input("", start)),
      (agent) =>
        (prompt: string, changes: Partial<TurnInput> = {}, onEvent?: OnEvent) =>
          told(
            turnEvents((emit) => agent.turn(input(prompt, { ...start, ...changes }), emit)),
            onEvent
          )
    )
  return { ...where, server, turn, opened, state: harness.nativeState(manifest, where.homeDir) }
})

/** The arguments of every process on this machine. */
const commandLines = (): string =>
  processesWhere(() => true)
    .map((pid) => shown(pid, "cmdline"))
    .join("\n")

layer(services, { excludeTestServices: true, timeout: "5 minutes" })("opencode", (it) => {
  it.scoped(
    "writes a file, resumes from its exported state with the earlier turn in its context and over another protocol, and keeps the key out of files and arguments",
    () =>
      Effect.gen(function* () {
        const { homeDir, opened, root, server, state, turn, workspaceDir } = yield* session
        const seen: Array<string> = []
        const first = yield* turn(
          script(
            "Write the greeting.",
            { think: "Easy.", say: "Writing it.", tool: "write", path: "hello.txt", content: "hello\n" },
            { tool: "bash", cmd: "echo key=$REINS_API_KEY; echo lease=$REINS_LEASE" },
            { say: "All done." }
          ),
          { leaseId: "lease-first" },
          (event) => Effect.sync(() => (event._tag === "tool" ? seen.push(commandLines()) : undefined))
        )
        assert.strictEqual(readFileSync(path.join(workspaceDir, "hello.txt"), "utf8"), "hello\n")
        assert.strictEqual(said(first), "Writing it.All done.")
        assert.strictEqual(
          of(first, "reasoning")
            .map((event) => event.text)
            .join(""),
          "Easy."
        )
        assert.isTrue(of(first, "tool").some((tool) => tool.state === "done" && tool.kind === "edit"))
        assert.include(of(first, "tool").at(-1)?.output_text, "key=\nlease=lease-first")
        assert.deepInclude(of(first, "usage").at(-1), { scope: "last_call", output_tokens: 20, cached_tokens: 100 })
        assert.strictEqual(first.at(-1)?._tag, "ended")
        assert.deepStrictEqual(of(first, "diagnostic"), [])
        assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: "lease-first" })), [])

        assert.isAbove(seen.length, 0)
        assert.notInclude(seen.join("\n"), apiKey)
        assert.notInclude(JSON.stringify(first), apiKey)
        assert.deepStrictEqual(yield* Effect.promise(() => filesHolding(root, apiKey)), [])
        assert.deepStrictEqual(readdirSync(path.join(homeDir, ".config/opencode/node_modules")), [".keep"])
        const kept = yield* state
        assert.match(kept.digest ?? "", /^sha256:[0-9a-f]{64}$/)
        assert.deepStrictEqual(yield* state, kept)

        const id = of(first, "native_session")[0]?.id ?? ""
        const elsewhere = path.join(root, "elsewhere")
        yield* Effect.promise(async () => {
          for (const file of kept.files) await cp(path.join(homeDir, file.path), path.join(elsewhere, file.path))
        })
        const steps = [{ say: "Now.", tool: "write", path: "a.txt", content: "a" }, { say: "Resumed." }]
        const resumed = yield* opened({
          nativeSessionId: id,
          homeDir: elsewhere,
          model: "scripted-2",
          connection: connection({ base_url: server.url, protocol: "openai_responses" }, apiKey)
        })
        const second = yield* resumed(script("And now?", ...steps))
        assert.strictEqual(readFileSync(path.join(workspaceDir, "a.txt"), "utf8"), "a")
        assert.deepStrictEqual(of(second, "native_session"), [{ _tag: "native_session", id, resumed: true }])
        assert.strictEqual(said(second), "Now.Resumed.")
        const last = server.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.strictEqual(last?.model, "scripted-2")
        assert.isTrue(
          last?.messages.some((message) => message.role === "user" && message.text.includes("Write the greeting."))
        )
        assert.isTrue(
          last?.messages.some((message) => message.role === "assistant" && message.text.includes("All done."))
        )

        const hanging = yield* Effect.flip(resumed(script("Try.", { hang: true }), { silenceTimeout: "3 seconds" }))
        assert.deepInclude({ ...hanging }, { reason: "timeout", retryable: true })
        const unknown = yield* Effect.flip(turn(script("x", { say: "x" }), { nativeSessionId: "ses_doesnotexist" }))
        assert.strictEqual(unknown.reason, "context_unavailable")
      }),
    300_000
  )

  it.scoped(
    "each way in which a gateway fails ends the turn with a helpful reason",
    () =>
      Effect.gen(function* () {
        const { opened, turn } = yield* session
        // opencode tries again for some seconds; meanwhile another one does.
        const again = Effect.flatMap(session, ({ turn }) => Effect.flip(turn(script("Try.", { error: 429 }))))
        const repeated = yield* Effect.fork(again)

        const one = yield* opened()
        const run = (step: Step) => Effect.flip(one(script("Try.", step)))
        const refused = yield* run({ error: 401 })
        assert.deepInclude({ ...refused }, { reason: "credential_invalid", retryable: false })
        assert.include(refused.message, "HTTP 401: Incorrect API key provided")
        const bad = yield* run({ error: 400, message: "No such model." })
        assert.deepInclude({ ...bad }, { reason: "upstream_error", retryable: false })
        assert.include(bad.message, "HTTP 400: No such model.")
        const dropped = yield* run({ drop: true })
        assert.deepInclude({ ...dropped }, { reason: "upstream_error", retryable: true })
        const modelless = yield* Effect.flip(turn(script("Try."), { model: null }))
        assert.include(modelless.message, "needs a model")
        const limited = yield* Fiber.join(repeated)
        assert.deepInclude({ ...limited }, { reason: "quota_exhausted", retryable: true })
        assert.include(limited.message, "HTTP 429: Rate limit reached.")
      }),
    300_000
  )

  it.scoped(
    "a killed agent is harness_crashed, leaves nothing behind, and its session goes on, over anthropic_messages",
    () =>
      Effect.gen(function* () {
        const { server, turn, workspaceDir } = yield* session
        const spoken = { connection: connection({ base_url: server.url, protocol: "anthropic_messages" }, apiKey) }
        const leaseId = `lease-crash-${process.pid}`
        let id = ""
        const crash = yield* Effect.flip(
          turn(
            script("Remember the horse.", {
              say: "Off we go.",
              tool: "bash",
              cmd: "setsid sleep 1000 & exec sleep 1000"
            }),
            { ...spoken, leaseId },
            (event) =>
              Effect.promise(async () => {
                if (event._tag === "native_session") id = event.id
                if (event._tag !== "tool" || event.state !== "running") return
                const agent = (await findMarked({ kind: "lease", id: leaseId })).find((each) =>
                  each.command.endsWith("opencode")
                )
                if (agent !== undefined) signal(agent.pid, "SIGKILL")
              })
          )
        )
        assert.deepInclude({ ...crash }, { reason: "harness_crashed", retryable: true })
        assert.include(crash.message, "SIGKILL")
        assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: leaseId })), [])

        const cancel = yield* Deferred.make<void>()
        const cancelled = yield* turn(
          script("Go on.", { say: "Working.", tool: "bash", cmd: "sleep 1000" }),
          { ...spoken, leaseId, nativeSessionId: id, cancel: Deferred.await(cancel) },
          (event) =>
            event._tag === "tool" && event.state === "running" ? Deferred.succeed(cancel, undefined) : Effect.void
        )
        assert.deepStrictEqual(of(cancelled, "ended"), [{ _tag: "ended", stop_reason: "cancelled" }])
        assert.isFalse(["pending", "running"].includes(of(cancelled, "tool").at(-1)?.state ?? ""))
        assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: leaseId })), [])

        const after = yield* turn(
          script("Still there?", { tool: "write", path: "a.txt", content: "a" }, { say: "Yes." }),
          { ...spoken, nativeSessionId: id }
        )
        assert.strictEqual(readFileSync(path.join(workspaceDir, "a.txt"), "utf8"), "a")
        assert.deepStrictEqual(of(after, "native_session"), [{ _tag: "native_session", id, resumed: true }])
        assert.strictEqual(said(after), "Yes.")
        assert.isTrue(server.requests.at(-1)?.messages.some((message) => message.text.includes("Remember the horse.")))
      }),
    300_000
  )
})
