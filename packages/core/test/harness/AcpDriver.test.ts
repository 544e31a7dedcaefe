import { readFileSync } from "node:fs"
import { assert, describe, layer } from "@effect/vitest"
import { Harness } from "@reins/machine/harness/Harness"
import type { HarnessFailure } from "@reins/machine/harness/HarnessEvent"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import {
  connection,
  filesHolding,
  of,
  place,
  runTurn,
  said,
  scriptedManifest,
  services,
  turnInput,
  turnOf
} from "@reins/testing/harness/Turns"
import { Effect, Stream } from "effect"

const script = (...steps: ReadonlyArray<object>) => JSON.stringify(steps)

const scripted = (steps: ReadonlyArray<object>, changes: Partial<TurnInput> = {}) =>
  Effect.flatMap(place, (where) => runTurn(turnInput(where, script(...steps), changes)))

const failure = (steps: ReadonlyArray<object>, changes: Partial<TurnInput> = {}) =>
  Effect.flip(scripted(steps, changes))

const chunk = (text: string, messageId = "m") => ({
  update: { sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } }
})

layer(services, { excludeTestServices: true })("a turn over ACP", (it) => {
  describe("events", () => {
    it.scoped("come in order, and the last one says how the turn ended", () =>
      Effect.gen(function* () {
        const events = yield* scripted([{ say: "hello" }])
        assert.deepStrictEqual(
          events.map((event) => event._tag),
          ["ready", "native_session", "text", "usage", "ended"]
        )
        assert.deepStrictEqual(of(events, "native_session"), [{ _tag: "native_session", id: "s1", resumed: false }])
        assert.deepStrictEqual(of(events, "usage")[0], {
          _tag: "usage",
          scope: "turn",
          input_tokens: 7,
          output_tokens: 3,
          cached_tokens: 2,
          reasoning_tokens: null
        })
        assert.strictEqual(of(events, "ended")[0]?.stop_reason, "completed")
      })
    )

    it.scoped("output that nothing understands is kept as a diagnostic", () =>
      Effect.gen(function* () {
        const events = yield* scripted([
          { raw: "Warning: this is no JSON" },
          { update: { sessionUpdate: "brand_new_update", secret_sauce: 42 } },
          { raw: '{"jsonrpc":"2.0","method":"vendor/news","params":{}}' },
          { say: "done" }
        ])
        assert.deepStrictEqual(
          of(events, "diagnostic").map((event) => event.kind),
          ["unparsed", "unknown_update", "unknown_message"]
        )
        assert.include(of(events, "diagnostic")[1]?.line, "secret_sauce")
        assert.strictEqual(said(events), "done")
      })
    )

    it.scoped("characters that the pipe cuts and lines of many megabytes survive", () =>
      Effect.gen(function* () {
        const events = yield* scripted([{ bytes: "grüße 🐎 日本" }, { giant: 20_000_000 }])
        assert.isTrue(said(events).startsWith("grüße 🐎 日本"))
        assert.strictEqual(said(events).length, "grüße 🐎 日本".length + 20_000_000)
      })
    )

    it.scoped("a tool is one growing record, and an open one is aborted at the end", () =>
      Effect.gen(function* () {
        const call = (more: object) => ({ update: { sessionUpdate: "tool_call_update", toolCallId: "t1", ...more } })
        const diff = { type: "diff", path: "a.txt", oldText: null, newText: "a" }
        const events = yield* scripted([
          call({
            sessionUpdate: "tool_call",
            title: "Write a.txt",
            kind: "edit",
            status: "pending",
            rawInput: { path: "a.txt" }
          }),
          call({ status: "in_progress" }),
          call({ status: "completed", content: [diff, { type: "content", content: { type: "text", text: "ok" } }] }),
          {
            update: {
              sessionUpdate: "tool_call",
              toolCallId: "t2",
              title: "Sleep",
              kind: "execute",
              status: "in_progress"
            }
          }
        ])
        assert.deepStrictEqual(
          of(events, "tool").map((tool) => [tool.tool_id, tool.state]),
          [
            ["t1", "pending"],
            ["t1", "running"],
            ["t1", "done"],
            ["t2", "running"],
            ["t2", "aborted"]
          ]
        )
        assert.deepStrictEqual(of(events, "tool")[2], {
          _tag: "tool",
          tool_id: "t1",
          kind: "edit",
          title: "Write a.txt",
          input: { path: "a.txt" },
          state: "done",
          output_text: "ok",
          diffs: [{ path: "a.txt", old_text: null, new_text: "a" }],
          locations: [],
          media: []
        })
      })
    )

    it.scoped("an open tool of a failed turn is aborted before the failure", () =>
      Effect.gen(function* () {
        const where = yield* place
        const harness = yield* Harness
        const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "Sleep", status: "in_progress" }
        const input = turnInput(where, script({ update: call }, { hang: true }), { deadline: "1 second" })
        const states: Array<string> = []
        const error = yield* turnOf(harness.open)(input).pipe(
          Stream.runForEach((event) =>
            Effect.sync(() => (event._tag === "tool" ? states.push(event.state) : undefined))
          ),
          Effect.flip
        )
        assert.strictEqual(error.reason, "timeout")
        assert.deepStrictEqual(states, ["running", "aborted"])
      })
    )

    it.scoped("words keep the key of their message, and a tool between two begins a new one", () =>
      Effect.gen(function* () {
        const tool = { update: { sessionUpdate: "tool_call", toolCallId: "t", title: "t", status: "completed" } }
        const events = yield* scripted([
          chunk("a", "m1"),
          chunk("b", "m1"),
          { say: "c" },
          tool,
          { say: "d" },
          { say: "e" }
        ])
        const keys = of(events, "text").map((event) => event.message_key)
        assert.deepStrictEqual(keys.slice(0, 3), ["m1", "m1", "m1"])
        assert.notStrictEqual(keys[3], "m1")
        assert.strictEqual(keys[3], keys[4])
      })
    )
  })

  describe("requests of the agent", () => {
    it.scoped("a permission is given by the kind of its option, an unknown method is refused", () =>
      Effect.gen(function* () {
        const options = [
          { optionId: "no", kind: "reject_once" },
          { optionId: "yes", kind: "allow_once" }
        ]
        const toolCall = { toolCallId: "t1", title: "Run", kind: "execute", status: "pending" }
        const events = yield* scripted([
          { ask: "session/request_permission", params: { toolCall, options } },
          { ask: "fs/write_text_file" }
        ])
        assert.include(said(events), '{"outcome":{"outcome":"selected","optionId":"yes"}}')
        assert.include(said(events), "-32601")
        assert.strictEqual(of(events, "tool")[0]?.title, "Run")
      })
    )
  })

  describe("resuming", () => {
    it.scoped("opens the same session again, and its replay is no part of the turn", () =>
      Effect.gen(function* () {
        const where = yield* place
        yield* runTurn(turnInput(where, script({ say: "first" })))
        const events = yield* runTurn(turnInput(where, script({ say: "second" }), { nativeSessionId: "s1" }))
        assert.deepStrictEqual(of(events, "native_session"), [{ _tag: "native_session", id: "s1", resumed: true }])
        assert.strictEqual(said(events), "second")
      })
    )

    it.scoped("an unknown session fails with context_unavailable and never opens a new one", () =>
      Effect.gen(function* () {
        const where = yield* place
        const error = yield* Effect.flip(runTurn(turnInput(where, script({ say: "x" }), { nativeSessionId: "s9" })))
        assert.deepInclude(error, { reason: "context_unavailable", retryable: false })
        assert.include(error.message, "no such session")
        assert.throws(() => readFileSync(`${where.homeDir}/sessions.json`))
      })
    )

    it.scoped("the native state has one digest, which changes with the state", () =>
      Effect.gen(function* () {
        const harness = yield* Harness
        const where = yield* place
        const state = () => harness.nativeState(scriptedManifest(), where.homeDir)
        assert.deepStrictEqual(yield* state(), { files: [], digest: null })
        yield* runTurn(turnInput(where, script({ say: "first" })))
        const after = yield* state()
        assert.deepStrictEqual(
          after.files.map((file) => file.path),
          ["sessions.json"]
        )
        assert.deepStrictEqual(yield* state(), after)
        yield* runTurn(turnInput(where, script({ say: "second" }), { nativeSessionId: "s1" }))
        assert.notStrictEqual((yield* state()).digest, after.digest)
      })
    )
  })

  describe("failures", () => {
    const check = (
      name: string,
      steps: ReadonlyArray<object>,
      expected: Pick<HarnessFailure, "reason" | "retryable">,
      changes: Partial<TurnInput> = {}
    ) =>
      it.scoped(name, () =>
        Effect.gen(function* () {
          assert.deepInclude({ ...(yield* failure(steps, changes)) }, expected)
        })
      )

    check("a refused credential is credential_invalid", [{ fail: "HTTP 401: nope" }], {
      reason: "credential_invalid",
      retryable: false
    })
    check("a used up quota is quota_exhausted", [{ fail: "You exceeded your current quota" }], {
      reason: "quota_exhausted",
      retryable: false
    })
    check("too many requests may be retried", [{ fail: "status 429" }], { reason: "quota_exhausted", retryable: true })
    check("a bad request is upstream_error", [{ fail: "HTTP 400: bad model" }], {
      reason: "upstream_error",
      retryable: false
    })
    check("a broken gateway is upstream_error", [{ fail: "HTTP 503: busy" }], {
      reason: "upstream_error",
      retryable: true
    })
    check("an exit in mid-turn is harness_crashed", [{ say: "x" }, { exit: 3 }], {
      reason: "harness_crashed",
      retryable: true
    })
    check("a killed agent is harness_crashed", [{ kill: true }], { reason: "harness_crashed", retryable: true })
    check("an end without a word is output_invalid", [], { reason: "output_invalid", retryable: true })
    check(
      "silence is a timeout",
      [{ hang: true }],
      { reason: "timeout", retryable: true },
      { silenceTimeout: "300 millis" }
    )
    check(
      "the deadline is a timeout",
      [{ hang: true }],
      { reason: "timeout", retryable: true },
      { deadline: "1 second" }
    )
    check(
      "a program that is not there is executor_unavailable",
      [],
      { reason: "executor_unavailable", retryable: true },
      {
        manifest: (({ runtime, ...manifest }) => ({
          ...manifest,
          runtime: runtime === null ? null : { ...runtime, launch: { ...runtime.launch, command: "/does/not/exist" } }
        }))(scriptedManifest())
      }
    )
    check(
      "a retry too many that stderr tells ends the turn",
      [{ stderr: "retry 3 HTTP 500: boom" }, { hang: true }],
      { reason: "upstream_error", retryable: true },
      { manifest: scriptedManifest({ stderr: { error: null, fatal: "^retry 3 (.*)$" } }) }
    )
    check(
      "an error that the agent says as words is a failure",
      [
        {
          update: { sessionUpdate: "session_info_update", _meta: { codex: { threadStatus: { type: "systemError" } } } }
        },
        { say: "unexpected status 402 Payment Required" }
      ],
      { reason: "quota_exhausted", retryable: false }
    )
  })

  describe("secrets", () => {
    const key = "sk-canary-0123456789"

    it.scoped("reach the environment of the agent, and no event, no line and no file", () =>
      Effect.gen(function* () {
        const where = yield* place
        const lines: Array<string> = []
        const events = yield* runTurn(
          turnInput(where, script({ environment: true }, { words: ["my key is sk-can", "ary-01", "23456789", "!"] }), {
            connection: connection({}, key),
            onLine: (_, line) => Effect.sync(() => lines.push(line))
          })
        )
        assert.include(said(events), '"KEY":"[secret]"')
        assert.include(said(events), "my key is [secret]!")
        assert.notInclude(JSON.stringify(events), key)
        assert.notInclude(lines.join("\n"), key)
        assert.deepStrictEqual(yield* Effect.promise(() => filesHolding(where.root, key)), [])
      })
    )

    it.scoped("nothing of the service's own environment reaches the agent beside a short list", () =>
      Effect.gen(function* () {
        process.env.REINS_TEST_PRIVATE = "private-to-the-service"
        const events = yield* scripted([{ environment: true }])
        assert.notInclude(said(events), "private-to-the-service")
        assert.include(said(events), '"PATH"')
      })
    )

    it.scoped("a connection that fits no profile fails before anything starts", () =>
      Effect.gen(function* () {
        const error = yield* failure([], { connection: { kind: "beta", settings: {}, secrets: {} } })
        assert.strictEqual(error.reason, "credential_invalid")
        assert.strictEqual(error.message, "needs an api_key")
      })
    )
  })
})
