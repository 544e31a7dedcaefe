import type { Transform } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { formsOf } from "@reins/machine/harness/Secrets"
import { blankSplitSecrets, comesInLines } from "@reins/machine/relay/gateway/SplitSecrets"
import { Effect, Redacted } from "effect"
import * as fc from "fast-check"
import { ask, bearer, gatewayOf, key, lentTo, services } from "./Loans.js"

const forms = formsOf({ key: Redacted.make(key) })

/** The whole output of a transform for an input in chunks. */
const through = (transform: Transform, chunks: Iterable<Buffer>): string => {
  const out: Array<Buffer> = []
  transform.on("data", (chunk: Buffer) => out.push(chunk))
  for (const chunk of chunks) transform.write(chunk)
  // The transform works at once, so its end is all that is left to come.
  transform._flush?.((_error, last) => out.push(last))
  return Buffer.concat(out).toString()
}

const cut = (bytes: Buffer, at: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const places = [...new Set(at.map((place) => place % (bytes.length + 1)))].sort((left, right) => left - right)
  return [...places, bytes.length].map((place, index) => bytes.subarray(places[index - 1] ?? 0, place))
}

type Style = "chat" | "messages" | "responses" | "lines"

const deltaOf = (style: Style, index: number, text: string): string => {
  switch (style) {
    case "chat":
      return `data: ${JSON.stringify({ id: "c1", choices: [{ index, delta: { content: text } }] })}\n\n`
    case "messages":
      return `event: content_block_delta\r\ndata: ${JSON.stringify({ type: "content_block_delta", index, delta: { type: "text_delta", text } })}\r\n\r\n`
    case "responses":
      return `data:${JSON.stringify({ type: "response.output_text.delta", item_id: `item${index}`, delta: text })}\n\n`
    case "lines":
      return `${JSON.stringify({ message: { content: text }, index })}\n`
  }
}

/** The texts of an answer, as an agent joins them. */
const joinedWords = (answer: string): ReadonlyArray<string> => {
  const texts = ["", ""]
  for (const line of answer.split(/\r?\n/)) {
    const text = line.replace(/^data: ?/, "")
    if (!text.startsWith("{")) continue
    const value = JSON.parse(text)
    const index = value.choices?.[0]?.index ?? value.index ?? Number(value.item_id.slice(4))
    texts[index] += value.choices?.[0]?.delta.content ?? value.delta?.text ?? value.delta ?? value.message.content
  }
  return texts
}

const style = fc.constantFrom<Style>("chat", "messages", "responses", "lines")
const words = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(key, encodeURIComponent(key), key.slice(0, 7), key.slice(5), `${key}${key}`)
    },
    fc.string({ maxLength: 12, unit: "grapheme" })
  ),
  { maxLength: 5 }
)
const cuts = fc.array(fc.nat(), { maxLength: 20 })

/** Two texts in pieces, which come in turns. */
const pieces = (texts: ReadonlyArray<string>, places: ReadonlyArray<number>) =>
  texts
    .flatMap((text, index) => {
      const characters = Array.from(text)
      const ends = [
        ...new Set(places.map((place) => (place * (index + 3)) % (characters.length + 1))),
        characters.length
      ]
      return ends
        .sort((left, right) => left - right)
        .map((end, at, all) => ({ at, index, text: characters.slice(all[at - 1] ?? 0, end).join("") }))
    })
    .sort((left, right) => left.at - right.at)

const blanked = (text: string): string => forms.reduce((left, form) => left.replaceAll(form, "[secret]"), text)

describe("a secret in pieces", () => {
  it("is blanked wherever an answer and its words are cut, and nothing else is changed", () => {
    fc.assert(
      fc.property(style, words, words, cuts, cuts, (how, first, second, wordCuts, byteCuts) => {
        const texts = [first.join(""), second.join("")]
        const deltas = pieces(texts, wordCuts).map(({ index, text }) => deltaOf(how, index, text))
        const answer = [...deltas, "data: [DONE]\n\n"].join("")
        const out = through(blankSplitSecrets(forms), cut(Buffer.from(answer), byteCuts))
        assert.deepStrictEqual(joinedWords(out), texts.map(blanked))
        if (texts.every((text) => !forms.some((form) => text.includes(form)))) assert.strictEqual(out, answer)
      }),
      { numRuns: 500 }
    )
  })

  it("holds a line back only while its words may go on as a secret", () => {
    const transform = blankSplitSecrets(forms)
    const seen = () => transform.read()?.toString() ?? ""
    const say = (text: string) => {
      transform.write(deltaOf("lines", 0, text))
      return seen()
    }
    assert.strictEqual(say("hello "), deltaOf("lines", 0, "hello "))
    assert.strictEqual(say(`it is ${key.slice(0, 4)}`), "")
    transform.write(": a comment\n")
    assert.strictEqual(seen(), "")
    assert.strictEqual(
      say("ip it"),
      `${deltaOf("lines", 0, `it is ${key.slice(0, 4)}`)}: a comment\n${deltaOf("lines", 0, "ip it")}`
    )
    assert.strictEqual(say(key.slice(0, 9)), "")
    assert.strictEqual(joinedWords(say(`${key.slice(9)}!`))[0], "[secret]!")
  })

  it("is blanked before its end when too much waits for that", () => {
    const transform = blankSplitSecrets(forms)
    transform.write(deltaOf("lines", 0, `the key: ${key.slice(0, -1)}`))
    const filler = deltaOf("lines", 1, "x".repeat(100_000))
    const out = through(
      transform,
      Array.from({ length: 12 }, () => Buffer.from(filler))
    )
    assert.strictEqual(joinedWords(out)[0], "the key: [secret]")
  })

  it("is looked for in words with escapes, and a line that is too long passes as it is", () => {
    const escaped = `{"text":"\\u0073${JSON.stringify(key).slice(2)}}\n`
    assert.strictEqual(through(blankSplitSecrets(forms), [Buffer.from(escaped)]), '{"text":"[secret]"}\n')
    const long = Buffer.alloc(9 * 1024 * 1024, "x")
    assert.strictEqual(through(blankSplitSecrets(forms), [long, Buffer.from("\n")]).length, long.length + 1)
  })

  it("is looked for in answers that come in lines alone", () => {
    for (const type of ["text/event-stream", "Text/Event-Stream; charset=utf-8", "application/x-ndjson"])
      assert.isTrue(comesInLines(type), type)
    for (const type of [undefined, "application/json", "text/event-streams"]) assert.isFalse(comesInLines(type))
  })

  it.scopedLive("of a gateway does not reach its agent", () =>
    Effect.gen(function* () {
      const base = yield* gatewayOf((request, response) => {
        const sent = (request.headers.authorization ?? "").replace("Bearer ", "")
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.end(Array.from(`It is ${sent}.`, (letter) => deltaOf("chat", 0, letter)).join(""))
      })
      const { token, url } = yield* lentTo(base)
      const answer = yield* ask(`${url}/chat/completions`, { method: "POST", headers: bearer(token), body: "{}" })
      assert.strictEqual(joinedWords(answer.body.toString())[0], "It is [secret].")
    }).pipe(Effect.provide(services))
  )
})
