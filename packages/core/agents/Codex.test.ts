import { readFileSync } from "node:fs"
import * as path from "node:path"
import { assert, layer } from "@effect/vitest"
import { findMarked } from "@reins/machine/executor/ProcessTable"
import { Harness } from "@reins/machine/harness/Harness"
import type { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import { Manifests } from "@reins/machine/harness/Manifests"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
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
import { Deferred, Effect, Stream } from "effect"
import { type Step, script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"

const apiKey = "sk-canary-beta-51c09e"

const session = Effect.gen(function* () {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startGateway({ apiKey })),
    (running) => Effect.promise(() => running.close())
  )
  const where = yield* place
  const harness = yield* Harness
  const manifest = yield* (yield* Manifests).get("beta")
  const program = yield* installed("beta")
  const turn = (
    prompt: string,
    changes: Partial<TurnInput> = {},
    onEvent: (event: HarnessEvent) => Effect.Effect<unknown> = () => Effect.void
  ) =>
    turnOf(harness.open)(
      turnInput(where, prompt, {
        manifest,
        installed: program,
        connection: connection({ base_url: server.url }, apiKey),
        model: "scripted-1",
        ...changes
      })
    ).pipe(
      Stream.tap(onEvent),
      Stream.runCollect,
      Effect.map((events) => [...events])
    )
  return { ...where, server, turn }
})

layer(services, { excludeTestServices: true, timeout: "5 minutes" })("codex", (it) => {
  it.scoped(
    "works through a gateway, resumes, and keeps the key out of files",
    () =>
      Effect.gen(function* () {
        const { root, server, turn, workspaceDir } = yield* session
        const holding: Array<string> = []
        const first = yield* turn(
          script(
            "Write the greeting.",
            { think: "Easy.", say: "Writing it.", tool: "write", path: "hello.txt", content: "hello\n" },
            { tool: "bash", cmd: "sleep 1; echo key=$REINS_API_KEY; echo out-42" },
            { say: "All done." }
          ),
          {},
          (event) =>
            event._tag === "tool"
              ? Effect.promise(async () => holding.push(...(await filesHolding(root, apiKey))))
              : Effect.void
        )
        assert.strictEqual(readFileSync(path.join(workspaceDir, "hello.txt"), "utf8"), "hello\n")
        assert.strictEqual(said(first), "Writing it.All done.")
        assert.deepInclude(of(first, "tool").find((tool) => tool.kind === "edit" && tool.state === "done")?.diffs[0], {
          new_text: "hello\n"
        })
        assert.include(of(first, "tool").findLast((tool) => tool.kind === "execute")?.output_text, "key=\nout-42")
        assert.deepInclude(of(first, "usage").at(-1), { scope: "turn", output_tokens: 60 })
        assert.deepStrictEqual(of(first, "diagnostic"), [])
        assert.deepStrictEqual([...holding, ...(yield* Effect.promise(() => filesHolding(root, apiKey)))], [])

        const id = of(first, "native_session")[0]?.id ?? ""
        const second = yield* turn(script("And now?", { say: "Resumed." }), { nativeSessionId: id })
        assert.strictEqual(said(second), "Resumed.")
        assert.isTrue(server.requests.at(-1)?.messages.some((message) => message.text.includes("All done.")))

        const cancel = yield* Deferred.make<void>()
        const cancelled = yield* turn(
          script("Wait.", { say: "Waiting.", tool: "bash", cmd: "sleep 1000" }),
          { leaseId: "lease-codex", nativeSessionId: id, cancel: Deferred.await(cancel) },
          (event) =>
            event._tag === "tool" && event.state === "running" ? Deferred.succeed(cancel, undefined) : Effect.void
        )
        assert.deepStrictEqual(of(cancelled, "ended"), [{ _tag: "ended", stop_reason: "cancelled" }])
        assert.deepStrictEqual(yield* Effect.promise(() => findMarked({ kind: "lease", id: "lease-codex" })), [])
      }),
    300_000
  )

  it.scoped(
    "a gateway that fails, an unknown session and a missing connection each have their reason",
    () =>
      Effect.gen(function* () {
        const { server, turn } = yield* session
        const run = (steps: ReadonlyArray<Step>, changes: Partial<TurnInput> = {}) =>
          Effect.flip(turn(script("Try.", ...steps), changes))

        const alone = yield* run([{ say: "x" }], { connection: null, model: null })
        assert.strictEqual(alone.reason, "credential_invalid")
        assert.include(alone.message, "Authentication required")
        assert.include(alone.message, "a connection of the kind beta")
        const refused = yield* run([{ say: "x" }], { connection: connection({ base_url: server.url }, "sk-wrong-key") })
        assert.deepInclude({ ...refused }, { reason: "credential_invalid", retryable: false })
        assert.include(refused.message, "post a new credential version")
        const quota = yield* run([{ error: 429 }])
        assert.strictEqual(quota.reason, "quota_exhausted")
        const bad = yield* run([{ error: 400, message: "No such model." }])
        assert.strictEqual(bad.reason, "upstream_error")
        assert.include(bad.message, "No such model.")
        const dropped = yield* run([{ drop: true }])
        assert.deepInclude({ ...dropped }, { reason: "upstream_error", retryable: true })
        const unknown = yield* run([{ say: "x" }], { nativeSessionId: "01a1fd3a-d7ae-7f13-bc0b-4c9a3b038e7f" })
        assert.strictEqual(unknown.reason, "context_unavailable")
      }),
    300_000
  )
})
