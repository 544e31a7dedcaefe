import { assert, describe, it } from "@effect/vitest"
import { makeClientDocuments } from "@reins/core/oauth/ClientDocuments"
import { readMetadata } from "@reins/core/oauth/ClientMetadata"
import { isAppRedirect } from "@reins/core/oauth/Redirects"
import { Outbound } from "@reins/machine/outbound/Outbound"
import type { Change } from "@reins/testing/world/Answer"
import { tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField } from "@reins/testing/world/Changes"
import { inJson, openSpeaker } from "@reins/testing/world/Speaker"
import { Effect, Either, Layer } from "effect"

const id = "https://app.example/client.json"
const redirect_uris = ["https://app.example/first", "http://localhost/odd", "com.example.app:/last"]
const document = {
  client_id: id,
  client_name: "An app",
  client_uri: "https://app.example",
  redirect_uris,
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
  scope: "read"
}

const changes: ReadonlyArray<Change> = [
  ...changesOfElement(["redirect_uris"], 1, []),
  ...changesOfAnswer(["redirect_uris"]),
  ...["client_name", "client_uri", "scope", "grant_types", "response_types"].flatMap((field) =>
    changesOfField([field])
  ),
  ...["client_id", "token_endpoint_auth_method"].flatMap((field) => changesOfField([field], "lost"))
]

/** A sentence for people. */
const isSentence = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  text !== "" && text.length <= 600 && !/[\u0000-\u001f\u202e]/.test(text)

interface Read {
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
}

/** The faults of an app as it was read. */
const judged = (found: Either.Either<Read, { readonly description: string }>, { kind, name }: Change) => {
  if (Either.isLeft(found)) {
    const { description } = found.left
    if (!isSentence(description)) return [`no sentence: ${description.slice(0, 200)}`]
    // A document has a bounded length.
    const adorns = /^client_name|^client_uri|^scope|^the element/.test(name) && !/bytes/.test(description)
    return kind === "same" || (kind === "element" && adorns) ? [`one costs all: ${description}`] : []
  }
  const { name: shown, redirectUris } = found.right
  const problems = isSentence(shown) && shown.length <= 80 ? [] : [`the name is ${JSON.stringify(shown).slice(0, 100)}`]
  for (const uri of redirectUris)
    if (!redirect_uris.includes(uri) || !isAppRedirect(uri)) problems.push(`an answer may go to ${uri}`)
  if (new Set(redirectUris).size !== redirectUris.length) problems.push("an address stands twice")
  for (const uri of [redirect_uris[0], redirect_uris[2]])
    if (uri !== undefined && !redirectUris.includes(uri)) problems.push(`${uri} is lost`)
  return problems
}

describe("the world of apps", () => {
  it.scopedLive("what they register", () =>
    Effect.gen(function* () {
      // A registration is a body, which has no status.
      const ofBodies = changes.filter(
        ({ name }) => !/^\d{3} |type$|^a type|^late|^in two|^cut|^an empty|HTML/.test(name)
      )
      const { tried, wrong } = yield* tryBorder({
        name: "OAuth: what apps register",
        changes: ofBodies,
        ask: (change) =>
          Effect.gen(function* () {
            const { text } = change.apply({ ...inJson, text: JSON.stringify(document) })
            const body: unknown = JSON.parse(text.replace("\ufeff", ""))
            const found = yield* Effect.either(readMetadata(body))
            if (change.kind === "lost" && !/^client_id|^token_/.test(change.name) && Either.isRight(found))
              return ["nothing was told, and something was read"]
            return judged(found, change)
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 60)
    })
  )

  it.scopedLive("their documents", () =>
    Effect.gen(function* () {
      const speaker = yield* openSpeaker(() => ({ ...inJson, text: JSON.stringify(document) }))
      const real = yield* Outbound
      // The host of the app stands on loopback, without the TLS that a document needs.
      const there = Outbound.of({
        ...real,
        fetch: (url, request, limits) => real.fetch(url.replace("https://app.example", speaker.url), request, limits)
      })
      const { tried, wrong } = yield* tryBorder({
        name: "OAuth: the documents of apps",
        changes: [
          ...changes,
          ...changesOfField(["client_secret"], "lost").filter(
            ({ name }) => !/absent|capitals|alphabets|control|000|NUL/.test(name)
          )
        ],
        ask: (change) =>
          Effect.gen(function* () {
            speaker.change = change
            const documentOf = yield* Effect.provide(makeClientDocuments, Layer.succeed(Outbound, there))
            const found = yield* Effect.either(documentOf(id))
            const isLost = change.kind === "lost" && !/^client_id in two|^client_secret null$/.test(change.name)
            const isNone = /^token_endpoint_auth_method (?:absent|null)/.test(change.name)
            if (isLost && !isNone && Either.isRight(found)) return ["nothing was told, and something was read"]
            // A document says what it is by its type.
            if (change.name === "without a type") return Either.isRight(found) ? ["a document of no type is read"] : []
            return isNone && Either.isLeft(found) ? [] : judged(found, change)
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 80)
    }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))
  )
})
