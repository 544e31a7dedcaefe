import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DeliveryReason } from "@reins/core/deliveries/Delivery"
import { operationErrors } from "@reins/core/OperationErrors"
import { MergeRequestReason } from "@reins/core/requests/rows/MergeRequest"
import { TurnReason } from "@reins/core/sessions/rows/Turn"
import { assert, describe, it } from "vitest"
import { reasonInFull, reasonInShort, reasonSentences } from "../src/api/Reasons.js"
import { fieldSentence, forPeople, sentenceOf, sentences } from "../src/api/Sentences.js"
import { repositoryChoice } from "../src/setup/RepositoryChoice.js"

const source = join(import.meta.dirname, "../src")

/** Words that are for programs. */
const forbidden = /\bPATCH\b|GET \/api|POST \/api|\bPost an? |\bbody\.|Value error|harness\.model/

describe("errors for people", () => {
  it("each code of the API has a sentence, with at most 25 words each and no word for programs", () => {
    const codes = new Set<string>(Object.values(operationErrors).flat())
    for (const code of codes) assert.property(sentences, code)
    for (const { text } of Object.values(sentences)) {
      assert.notMatch(text, forbidden)
      for (const sentence of text.split(/(?<=\.)\s/)) assert.isAtMost(sentence.split(" ").length, 25, sentence)
    }
  })

  it("are told at the field, with the button that mends them", () => {
    const message =
      "The provider alpha runs with a model, and none is chosen. Name one as harness.model of a new session or as model of a PATCH of this one."
    assert.deepStrictEqual(sentenceOf("model_required", message), { text: "Choose a model.", field: "model" })
    assert.strictEqual(sentences["credential_invalid"]?.mend?.label, "Replace the key")
    assert.strictEqual(
      fieldSentence("Value error, The password is one of those that are guessed first; choose another one"),
      "This password is easy to guess. Use a few unrelated words."
    )
    assert.strictEqual(fieldSentence("Field required"), "This is required.")
  })

  it("keep what a person can use of the server's words", () => {
    assert.strictEqual(
      forPeople("The credential was refused (GET /models answered 401). Post a new credential version."),
      "The credential was refused (401)."
    )
    assert.strictEqual(
      forPeople("A workspace needs an owner, and this is the last one. Make somebody else an owner first."),
      "A workspace needs an owner, and this is the last one. Make somebody else an owner first."
    )
    assert.strictEqual(forPeople("There is no such thing. GET /api/harnesses lists those."), "There is no such thing.")
  })

  it("say the way forward of the server where it knows one", () => {
    for (const told of [
      "A workspace needs an owner, and this is the last one. Make somebody else an owner first.",
      'The account is the only owner of workspaces with other members: "Shop". Make somebody else an owner of each, or delete it, then delete the account.'
    ])
      assert.strictEqual(sentenceOf("invalid_transition", told).text, told)
    const limit = "This workspace has 20 webhook endpoints, and 20 are the most. Remove one that is not needed."
    assert.strictEqual(sentenceOf("quota_exhausted", limit).text, limit)
  })

  it("say each reason of a turn, a delivery and a merge request in short, without the words of a gateway", () => {
    for (const { ast } of [TurnReason, DeliveryReason, MergeRequestReason]) {
      const reasons =
        ast._tag === "Union" ? ast.types.flatMap((each) => (each._tag === "Literal" ? [each.literal] : [])) : []
      assert.isNotEmpty(reasons)
      for (const reason of reasons) assert.property(reasonSentences, String(reason))
    }
    for (const text of Object.values(reasonSentences)) {
      assert.notMatch(text, forbidden)
      assert.notMatch(text, /_/)
    }
    const failed = {
      reason: "credential_invalid",
      reason_message: 'The gateway answered 401: {"error":"no"}. Post a new credential version to the connection.'
    }
    assert.strictEqual(reasonInShort(failed), "The gateway refused the key. Replace it in Connections, then retry.")
    assert.strictEqual(reasonInFull(failed), 'The gateway answered 401: {"error":"no"}.')
    assert.strictEqual(reasonInShort({ reason: null, reason_message: null }), "")
    assert.strictEqual(reasonInShort({ reason: "a_new_one", reason_message: null }), "a new one.")
  })

  it("and all other texts of the console have no word for programs", () => {
    const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx$/.test(name))
    assert.isAbove(files.length, 40)
    for (const name of files) {
      const text = readFileSync(join(source, name), "utf8")
      // The events of a session are shown as what they are, with the call that reads them.
      if (name.endsWith("EventsTab.tsx")) continue
      const shown = text.replace(/^import .*$/gm, "").replace(/\$\{[^{}`]*\}/g, "…")
      const words = [...shown.matchAll(/"[^"\n]*"|`[^`]*`|^\s+[A-Z][^(){}=\n]*$/gm)]
      assert.notMatch(words.join("\n"), forbidden, name)
    }
  })
})

describe("the repository of a new session", () => {
  it("is read as people write it, and told where it is another address", () => {
    const cases: ReadonlyArray<readonly [given: string, branch: string, url: string, ref?: string]> = [
      ["acme/shop", "", "https://github.com/acme/shop"],
      ["git@git.example:acme/shop.git", "dev", "https://git.example/acme/shop.git", "dev"],
      ["https://github.com/acme/shop/pull/7", "", "https://github.com/acme/shop", "refs/pull/7/head"],
      ["https://github.com/acme/shop/tree/next", "", "https://github.com/acme/shop", "next"]
    ]
    for (const [given, branch, url, ref] of cases) {
      const told = `Starts from ${url}${ref === undefined ? "" : ` at ${ref}`}.`
      assert.deepStrictEqual(repositoryChoice(given, branch), { url, ...(ref && { base_ref: ref }), told })
    }
    for (const url of ["https://github.com/acme/shop.git", "ssh://git@git.example/acme/shop", ""])
      assert.deepStrictEqual(repositoryChoice(url, ""), { url, told: undefined })
  })
})
