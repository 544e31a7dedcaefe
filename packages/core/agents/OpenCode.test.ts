import { readdirSync, readFileSync } from "node:fs"
import { cp } from "node:fs/promises"
import * as path from "node:path"
import { assert, layer } from "@effect/vitest"
import { bearing, signal } from "@reins/core/executor/ProcessTable"
import { Harness } from "@reins/core/harness/Harness"
import type { HarnessEvent } from "@reins/core/harness/HarnessEvent"
import { Manifests } from "@reins/core/harness/Manifests"
import type { TurnInput } from "@reins/core/harness/TurnInput"
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
  const turn = (
    prompt: string,
    changes: Partial<TurnInput> = {},
    onEvent: (event: HarnessEvent) => Effect.Effect<unknown> = () => Effect.void
  ) =>
    turnOf(harness.open)(input(prompt, changes)).pipe(
      Stream.tap(onEvent),
      Stream.runCollect,
      Effect.map((events) => [...events])
    )
  return { ...where, server, turn, state: harness.nativeState(manifest, where.homeDir) }
})

/** The arguments of every process on this machine. */
const commandLines = (): string =>
  processesWhere(() => true)
    .map((pid) => shown(pid, "cmdline"))
    .join("\n")

layer(services, { excludeTestServices: true, timeout: "5 minutes" })("opencode", (it) => {
  it.scoped(
    "writes a file, resumes from its exported state with the earlier turn in its context, and keeps the key out of files and arguments",
    () =>
      Effect.gen(function* () {
        const { homeDir, root, server, state, turn, workspaceDir } = yield* session
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
        assert.deepStrictEqual(yield* Effect.promise(() => bearing({ kind: "lease", id: "lease-first" })), [])

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
        const second = yield* turn(script("And now?", { say: "Resumed." }), {
          nativeSessionId: id,
          homeDir: elsewhere,
          model: "scripted-2"
        })
        assert.deepStrictEqual(of(second, "native_session"), [{ _tag: "native_session", id, resumed: true }])
        assert.strictEqual(said(second), "Resumed.")
        const last = server.requests.filter((request) => request.tools.length > 0).at(-1)
        assert.strictEqual(last?.model, "scripted-2")
        assert.isTrue(
          last?.messages.some((message) => message.role === "user" && message.text.includes("Write the greeting."))
        )
        assert.isTrue(
          last?.messages.some((message) => message.role === "assistant" && message.text.includes("All done."))
        )

        const unknown = yield* Effect.flip(turn(script("x", { say: "x" }), { nativeSessionId: "ses_doesnotexist" }))
        assert.strictEqual(unknown.reason, "context_unavailable")
      }),
    120_000
  )

  it.scoped(
    "each way in which a gateway fails ends the turn with a helpful reason",
    () =>
      Effect.gen(function* () {
        const { server, turn } = yield* session
        const wrongKey = connection({ base_url: server.url, protocol: "openai_chat" }, "sk-wrong-key")
        const run = (steps: ReadonlyArray<Step>, changes: Partial<TurnInput> = {}) =>
          Effect.flip(turn(script("Try.", ...steps), changes))
        // opencode tries again for some seconds; meanwhile the others run.
        const again = (step: Step) => Effect.flatMap(session, ({ turn }) => Effect.flip(turn(script("Try.", step))))
        const repeated = yield* Effect.fork(
          Effect.all([again({ drop: true }), again({ error: 429 })], { concurrency: 2 })
        )

        const refused = yield* run([{ say: "x" }], { connection: wrongKey })
        assert.deepInclude({ ...refused }, { reason: "credential_invalid", retryable: false })
        assert.include(refused.message, "HTTP 401: Incorrect API key provided")
        const bad = yield* run([{ error: 400, message: "No such model." }])
        assert.deepInclude({ ...bad }, { reason: "upstream_error", retryable: false })
        assert.include(bad.message, "HTTP 400: No such model.")
        const hanging = yield* run([{ hang: true }], { silenceTimeout: "3 seconds" })
        assert.deepInclude({ ...hanging }, { reason: "timeout", retryable: true })
        const modelless = yield* run([], { model: null })
        assert.include(modelless.message, "needs a model")
        const [dropped, limited] = yield* Fiber.join(repeated)
        assert.deepInclude({ ...dropped }, { reason: "upstream_error", retryable: true })
        assert.deepInclude({ ...limited }, { reason: "quota_exhausted", retryable: true })
        assert.include(limited.message, "HTTP 429: Rate limit reached.")
      }),
    120_000
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
                const agent = (await bearing({ kind: "lease", id: leaseId })).find((each) =>
                  each.command.endsWith("opencode")
                )
                if (agent !== undefined) signal(agent.pid, "SIGKILL")
              })
          )
        )
        assert.deepInclude({ ...crash }, { reason: "harness_crashed", retryable: true })
        assert.include(crash.message, "SIGKILL")
        assert.deepStrictEqual(yield* Effect.promise(() => bearing({ kind: "lease", id: leaseId })), [])

        const cancel = yield* Deferred.make<void>()
        const cancelled = yield* turn(
          script("Go on.", { say: "Working.", tool: "bash", cmd: "sleep 1000" }),
          { ...spoken, leaseId, nativeSessionId: id, cancel: Deferred.await(cancel) },
          (event) =>
            event._tag === "tool" && event.state === "running" ? Deferred.succeed(cancel, undefined) : Effect.void
        )
        assert.deepStrictEqual(of(cancelled, "ended"), [{ _tag: "ended", stop_reason: "cancelled" }])
        assert.isFalse(["pending", "running"].includes(of(cancelled, "tool").at(-1)?.state ?? ""))
        assert.deepStrictEqual(yield* Effect.promise(() => bearing({ kind: "lease", id: leaseId })), [])

        const after = yield* turn(
          script("Still there?", { tool: "write", path: "a.txt", content: "a" }, { say: "Yes." }),
          { ...spoken, nativeSessionId: id }
        )
        assert.strictEqual(readFileSync(path.join(workspaceDir, "a.txt"), "utf8"), "a")
        assert.deepStrictEqual(of(after, "native_session"), [{ _tag: "native_session", id, resumed: true }])
        assert.strictEqual(said(after), "Yes.")
        assert.isTrue(server.requests.at(-1)?.messages.some((message) => message.text.includes("Remember the horse.")))
      }),
    120_000
  )

  it.scoped(
    "speaks openai_responses",
    () =>
      Effect.gen(function* () {
        const { server, turn, workspaceDir } = yield* session
        const events = yield* turn(
          script("Write.", { say: "Now.", tool: "write", path: "a.txt", content: "a" }, { say: "Done." }),
          { connection: connection({ base_url: server.url, protocol: "openai_responses" }, apiKey) }
        )
        assert.strictEqual(said(events), "Now.Done.")
        assert.strictEqual(readFileSync(path.join(workspaceDir, "a.txt"), "utf8"), "a")
      }),
    60_000
  )
})
