import { assert, describe, it } from "@effect/vitest"
import { ConnectionId, CredentialId } from "@reins/base/domain/Ids"
import type { OpenConnection } from "@reins/core/connections/OpenConnection"
import { GrantRefused, type TokenPlace } from "@reins/core/grants/Grant"
import { findPlace } from "@reins/core/grants/TokenPlaces"
import { askPlace } from "@reins/core/grants/TokenRequest"
import { Outbound } from "@reins/machine/outbound/Outbound"
import type { Change } from "@reins/testing/world/Answer"
import { type Border, tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField } from "@reins/testing/world/Changes"
import { inJson, openSpeaker } from "@reins/testing/world/Speaker"
import { Effect, Redacted } from "effect"

const secret = "canary-Zq8rT2vX5nB7"

const connectionTo = (server_url: string): OpenConnection => ({
  id: ConnectionId.make("con_01k0000000000000000000000a"),
  credentialId: CredentialId.make("cred_01k0000000000000000000000a"),
  kind: "mcp_oauth",
  settings: { server_url, client_id: "reins" },
  secrets: { client_secret: Redacted.make(secret), refresh_token: Redacted.make(`${secret}-refresh`) },
  preferredModel: null,
  prices: {}
})

/** A sentence for people, without a secret. */
const isSentence = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a sentence.
  text !== "" && text.length <= 600 && !/[\u0000-\u001f\u202e]/.test(text) && !text.includes(secret)

const ofResource: ReadonlyArray<Change> = [
  ...changesOfElement(["authorization_servers"], 1, []),
  // The first one is asked, and no other one in its place: the credential may be of the first alone.
  ...changesOfAnswer(["authorization_servers"]).filter(({ name }) => !name.endsWith("order")),
  ...changesOfField(["resource"])
]

const ofIssuer: ReadonlyArray<Change> = [
  ...changesOfElement(["token_endpoint_auth_methods_supported"], 1, []),
  ...changesOfAnswer(["token_endpoint_auth_methods_supported"]),
  ...["issuer", "token_endpoint", "scopes_supported"].flatMap((field) => changesOfField([field]))
]

const ofToken: ReadonlyArray<Change> = [
  ...["access_token", "token_type", "expires_in", "refresh_token", "scope", "error"].flatMap((field) =>
    changesOfField([field])
  ),
  ...changesOfAnswer([]).filter(({ name }) => !/list|order|twice/.test(name)),
  ...["-1", "1e400", "1e12", '"60"', '"soon"', "1.5"].map(
    (life): Change => ({
      name: `expires_in ${life}`,
      kind: "element",
      apply: (answer) => ({ ...answer, text: answer.text.replace('"expires_in":60', `"expires_in":${life}`) })
    })
  )
]

/** A server of tools with two authorization servers, of which the first is asked, and what is picked of their answers. */
const opened = (picked: string) =>
  Effect.gen(function* () {
    const speaker = yield* openSpeaker(
      ({ path }) => {
        const { url } = speaker
        const body: Readonly<Record<string, unknown>> = {
          "/.well-known/oauth-protected-resource/mcp": {
            resource: `${url}/mcp`,
            authorization_servers: [url, "https://odd.example", "https://last.example"]
          },
          "/.well-known/oauth-authorization-server": {
            issuer: url,
            token_endpoint: `${url}/token`,
            scopes_supported: ["read"],
            token_endpoint_auth_methods_supported: ["none", "private_key_jwt", "client_secret_post"]
          },
          "/token": {
            access_token: "a-token",
            token_type: "Bearer",
            expires_in: 60,
            refresh_token: "another",
            scope: "read",
            error: null
          }
        }
        const found = body[path]
        return found === undefined ? { ...inJson, status: 404, text: "{}" } : { ...inJson, text: JSON.stringify(found) }
      },
      ({ path }) => path === picked
    )
    return speaker
  })

const tried = (picked: string, { changes, name }: Pick<Border<never>, "changes" | "name">) =>
  Effect.gen(function* () {
    const speaker = yield* opened(picked)
    const outbound = yield* Outbound
    const connection = connectionTo(`${speaker.url}/mcp`)
    const isEndpoint = ({ endpoint }: TokenPlace) => endpoint.href.toLowerCase() === `${speaker.url}/token`
    return yield* tryBorder({
      name,
      changes,
      ask: (change) =>
        Effect.gen(function* () {
          speaker.change = change
          const { kind } = change
          const place = yield* Effect.either(findPlace(connection, outbound))
          if (place._tag === "Left") {
            const { message } = place.left
            if (!isSentence(message)) return [`no sentence: ${message.slice(0, 200)}`]
            const isOfList = /^the element|^the list|^(?:each|errors)/.test(change.name) || kind === "same"
            return kind === "lost" || !isOfList ? [] : [`one costs all: ${message}`]
          }
          if (!isEndpoint(place.right)) return [`secrets go to ${place.right.endpoint.href.slice(0, 100)}`]
          if (kind === "lost" && picked !== "/token" && !/^the list|^4|^errors/.test(change.name))
            return ["nothing was told, and a place was found"]
          const { found, replaced } = yield* askPlace(place.right, connection, outbound)
          const next = replaced["refresh_token"]
          const problems =
            next !== undefined && !/^(?:another|ANOTHER|a\.a\.|word_)/.test(Redacted.value(next))
              ? ["a made up token"]
              : []
          if (found instanceof GrantRefused) {
            if (!isSentence(found.message)) problems.push(`no sentence: ${found.message.slice(0, 200)}`)
            // A place in capitals is another one.
            const isElsewhere = change.name === "token_endpoint in capitals"
            const isNeedless =
              (!isElsewhere && picked !== "/token") ||
              /^(?:expires_in|scope|refresh_token|error null|error ""|error absent|error in capitals)/.test(change.name)
            if (kind === "same" || (kind === "element" && isNeedless)) problems.push(`refused: ${found.message}`)
            return problems
          }
          if (kind === "lost" && picked === "/token") problems.push("nothing was told, and there is a token")
          if (!(found.lifeMs >= 0 && found.lifeMs <= 3_600_000)) problems.push(`a life of ${found.lifeMs} ms`)
          if (!/^[\x21-\x7e]{1,16384}$/.test(Redacted.value(found.token))) problems.push("the token is none")
          return problems
        })
    })
  })

describe("the world of authorization servers", () => {
  const borders = {
    "/.well-known/oauth-protected-resource/mcp": {
      name: "OAuth: the document of a server of tools",
      changes: ofResource
    },
    "/.well-known/oauth-authorization-server": { name: "OAuth: the document of an issuer", changes: ofIssuer },
    "/token": { name: "OAuth: the answer with a token", changes: ofToken }
  }
  for (const [picked, border] of Object.entries(borders))
    it.scopedLive(border.name, () =>
      Effect.gen(function* () {
        const result = yield* tried(picked, border)
        assert.deepStrictEqual(result.wrong, [])
        assert.isAbove(result.tried, 30)
      }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))
    )
})
