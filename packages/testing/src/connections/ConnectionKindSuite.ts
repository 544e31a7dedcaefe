import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { ConnectionId, CredentialId, newId } from "@reins/base/domain/Ids"
import type { ConnectionKind, ProbeMeans } from "@reins/core/connections/ConnectionKind"
import { GrantRefused } from "@reins/core/grants/Grant"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, Redacted } from "effect"
import { json, localServer } from "./LocalServer.js"

/** A kind of connection, with a credential of it. */
export interface ConnectionKindSubject {
  readonly kind: ConnectionKind
  /** A credential for a service at a base URL, whose secrets are all `secret`. */
  readonly credential: (baseUrl: string, secret: string) => Readonly<Record<string, string>>
  /** The secret, for a kind that takes no other text. */
  readonly secret?: string
  /** Answers the probe for a good credential; undefined for a kind whose probe asks no server. */
  readonly answer?: (response: ServerResponse) => void
}

const usualSecret = "canary-Zq8rT2vX5nB7mK1p"

/** The promises of `ConnectionKind`, for one kind. */
export const connectionKindSuite = ({
  answer,
  credential,
  kind,
  secret = usualSecret
}: ConnectionKindSubject): void => {
  const opened = (baseUrl: string) =>
    Effect.gen(function* () {
      const fields = Object.entries(yield* kind.credential(credential(baseUrl, secret))).filter(
        (field): field is [string, string] => field[1] !== undefined
      )
      return {
        id: yield* newId(ConnectionId),
        credentialId: yield* newId(CredentialId),
        kind: kind.kind,
        preferredModel: null,
        prices: {},
        settings: Object.fromEntries(fields.filter(([name]) => kind.settings.has(name))),
        secrets: Object.fromEntries(
          fields.filter(([name]) => !kind.settings.has(name)).map(([name, value]) => [name, Redacted.make(value)])
        )
      }
    })
  const probed = (baseUrl: string) =>
    Effect.gen(function* () {
      const outbound = yield* Outbound
      const connection = yield* opened(baseUrl)
      const { grant } = kind
      const freshToken: ProbeMeans["freshToken"] =
        grant === undefined
          ? Effect.dieMessage("the kind has no grant")
          : Effect.gen(function* () {
              const place = yield* grant.find(connection, outbound)
              const { found } = yield* grant.ask(place, connection, outbound)
              return found instanceof GrantRefused ? yield* found : found
            })
      return yield* kind.probe(connection, { outbound, defaultBaseUrl: undefined, freshToken })
    }).pipe(Effect.provide(Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })))

  describe(`connections of the kind ${kind.kind}`, () => {
    it.effect("keep every secret out of what may be read again", () =>
      Effect.gen(function* () {
        const { secrets, settings } = yield* opened("https://service.example")
        assert.notInclude(JSON.stringify(settings), secret)
        assert.isNotEmpty(Object.keys(secrets))
        for (const value of Object.values(secrets)) assert.strictEqual(Redacted.value(value), secret)
      })
    )

    it.effect("refuse a credential that is none, and an address with credentials in it", () =>
      Effect.gen(function* () {
        for (const given of [null, "text", [], { base_url: "https://me:word@service.example" }])
          assert.isTrue((yield* Effect.exit(kind.credential(given)))._tag === "Failure", JSON.stringify(given))
      })
    )

    it.scopedLive("say of a refused credential that it is refused, and quote nothing", () =>
      Effect.gen(function* () {
        if (answer === undefined) return assert.strictEqual((yield* probed("")).reason, "no_endpoint")
        const { url } = yield* localServer((_, response) => json(response, 401, { message: `no ${secret}` }))
        const verdict = yield* probed(url)
        assert.deepInclude(verdict, { state: "failed", health: "reauth_required", reason: "credential_refused" })
        assert.notInclude(JSON.stringify(verdict), secret)
      })
    )

    it.scopedLive("say of a good credential that it passes, with evidence for capabilities that the kind names", () =>
      Effect.gen(function* () {
        if (answer === undefined) return assert.deepStrictEqual((yield* probed("")).observations, [])
        const { url } = yield* localServer((_, response) => answer(response))
        const { observations, state } = yield* probed(url)
        assert.strictEqual(state, "passed")
        assert.includeMembers(
          [...kind.capabilities],
          observations.map(({ capability }) => capability)
        )
        for (const { evidence } of observations) assert.notInclude(evidence, secret)
      })
    )
  })
}
