import { assert, layer } from "@effect/vitest"
import { AgentFacts } from "@reins/machine/harness/acp/AgentFacts"
import { asWords } from "@reins/machine/harness/acp/CommandWords"
import { place, runTurn, said, scriptedManifest, services, turnInput } from "@reins/testing/harness/Turns"
import { Effect } from "effect"
import * as fc from "fast-check"

const review = {
  sessionUpdate: "available_commands_update",
  availableCommands: [{ name: "review" }, { name: "$skill" }]
}

const guarded = (text: string) => `The message:\n\n${text}`

layer(services, { excludeTestServices: true })("a text that begins like a command", (it) => {
  it.effect("is words, unless it calls a command that the agent has listed", () =>
    Effect.gen(function* () {
      const facts = new AgentFacts()
      facts.update(review.sessionUpdate, review)
      const kept = ["/review", "/review the last change", "/review\nall of it", "$skill a", "a /review", "a@b.c", ""]
      const words = [
        "/etc/hosts is wrong",
        "/reviewer",
        "/review/a.ts",
        "/Review",
        " /review",
        "//TODO",
        "$skills",
        "/"
      ]
      for (const text of kept) assert.strictEqual(yield* asWords(facts, text), text)
      for (const text of words) assert.strictEqual(yield* asWords(facts, text), guarded(text))
    })
  )

  it.effect("is found behind blanks and characters that nobody sees", () =>
    Effect.gen(function* () {
      const facts = new AgentFacts()
      facts.update(review.sessionUpdate, review)
      const blanks = [" ", "\n", "\t", "\r\n", "\u00a0", "\u200b", "\u2060", "\ufeff", "\u3000", "\u00ad", "\u3164"]
      const signs = fc.constantFrom("/", "//", "!", "@", "#", "$")
      const cases = fc.tuple(fc.array(fc.constantFrom(...blanks), { maxLength: 4 }), signs)
      for (const [before, sign] of fc.sample(cases, 500)) {
        const text = `${before.join("")}${sign}a b`
        assert.strictEqual(yield* asWords(facts, text), guarded(text))
      }
    })
  )

  it.scoped("reaches the agent with a line before it, and a listed command as it is", () =>
    Effect.gen(function* () {
      const manifest = scriptedManifest({}, { ABOUT: JSON.stringify({ updates: [review] }) })
      for (const [text, heard] of [
        ["/etc/hosts is wrong", guarded("/etc/hosts is wrong")],
        ["/review it", "/review it"]
      ] as const)
        assert.strictEqual(said(yield* runTurn(turnInput(yield* place, text, { manifest }))), `told ${heard}`)
    })
  )
})
