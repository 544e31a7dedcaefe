import { assert, layer } from "@effect/vitest"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import { connection, place, runTurn, scriptedManifest, services, turnInput } from "@reins/testing/harness/Turns"
import { Effect } from "effect"

/** The failure of an agent that begins as `start` says. */
const failureOf = (start: object, changes: Partial<TurnInput> = {}) =>
  Effect.flatMap(place, (where) => {
    const manifest = scriptedManifest({}, { ABOUT: JSON.stringify({ start }) })
    return Effect.flip(runTurn(turnInput(where, "[]", { manifest, ...changes })))
  })

const long = "x".repeat(30_000)

layer(services, { excludeTestServices: true })("a start that fails", (it) => {
  const check = (name: string, start: object, expected: object, words: ReadonlyArray<string>, never = "Retry") =>
    it.scoped(name, () =>
      Effect.gen(function* () {
        const failed = yield* failureOf(start)
        assert.deepInclude({ ...failed }, expected)
        for (const word of words) assert.include(failed.message, word)
        assert.notInclude(failed.message, never)
        assert.isBelow(failed.message.length, 1_500)
      })
    )

  check(
    "tells the last words of an agent that ends by itself, and advises no retry",
    { stderr: "loading\n\u001b[91mError:\u001b[0m tool.json, line 3: a comma is missing", exit: 1 },
    { reason: "harness_crashed", retryable: false },
    ["ended while it started (exit code 1)", "Error: tool.json, line 3: a comma is missing"]
  )
  check(
    "tells the end of many words, cut between characters",
    { stderr: `${long}\n${"🙂".repeat(500)}\nError at the end`, exit: 2 },
    { reason: "harness_crashed", retryable: false },
    ["Error at the end"],
    "\ufffd"
  )
  check(
    "may be retried where its words are about something that passes",
    { stderr: "connect ECONNREFUSED 127.0.0.1:9", exit: 1 },
    { reason: "harness_crashed", retryable: true },
    ["ECONNREFUSED", "Retry the turn."],
    "Mend"
  )
  check(
    "may be retried where nothing is known",
    { exit: 1 },
    { reason: "harness_crashed", retryable: true },
    ["Retry the turn."],
    "last words"
  )
  for (const fail of [
    "failed to load configuration: /w/.tool/config.toml: parse error at line 2, column 26: extra `=`",
    `--- JSONC Input ---\n{"apiKey": "quota",${long}\n--- Errors ---\nInvalidSymbol at line 2, column 9`,
    "unknown setting: colour"
  ])
    check(
      `names the setting that cannot be read: ${fail.slice(-40)}`,
      { fail },
      { reason: "executor_unavailable", retryable: false },
      [fail.slice(-30), "Mend what it names"]
    )
  check(
    "of a refused credential is still one",
    { fail: "HTTP 401: nope" },
    { reason: "credential_invalid", retryable: false },
    ["nope"]
  )
  check(
    "tells the last words beside an error that says nothing",
    { stderr: "cannot read .tool/agents/x.md", fail: "" },
    { reason: "executor_unavailable", retryable: false },
    ["cannot read .tool/agents/x.md"]
  )

  it.scoped("says no secret of its connection", () =>
    Effect.gen(function* () {
      const key = "sk-canary-5e1f0a7c"
      const { message } = yield* failureOf(
        { stderr: `the key is ${key}`, exit: 1 },
        { connection: connection({}, key) }
      )
      assert.include(message, "the key is")
      assert.notInclude(message, key)
    })
  )
})
