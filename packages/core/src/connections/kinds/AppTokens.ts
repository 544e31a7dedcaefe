import { createPrivateKey } from "node:crypto"
import { readJson } from "@reins/base/base/ForeignJson"
import { now } from "@reins/base/domain/Timestamp"
import { type Ask, decodeAnswer, ForgeError, type Refusal, refusedWith } from "@reins/machine/forge/Forge"
import { askForge } from "@reins/machine/forge/ForgeRequest"
import type { OutboundAnswer } from "@reins/machine/outbound/Outbound"
import { Clock, Effect, Redacted, Schema } from "effect"
import githubAppJwt from "universal-github-app-jwt"
import type { OpenConnection } from "../OpenConnection.js"
import { refusal } from "../ProbeRefusal.js"
import type { MintedToken, MintMeans, TokenWanted } from "../TokenMaker.js"
import { asking, passed, unexpected, type Verdict } from "../Verdict.js"

// Owns the language of GitHub about apps: signed statements, installations and tokens of one repository.

const levels = ["read", "write", "admin"] as const
type Level = (typeof levels)[number]
type Permissions = Readonly<Record<string, Level>>

/** The permissions of a token. An app without one of the first cannot serve; the others are asked for where the app has them. */
const wantedFor: Readonly<Record<TokenWanted["use"], { readonly needed: Permissions; readonly useful: Permissions }>> =
  {
    git: { needed: { contents: "write" }, useful: { metadata: "read" } },
    api: {
      needed: { contents: "write", pull_requests: "write" },
      useful: { actions: "write", checks: "read", statuses: "read", metadata: "read" }
    }
  }

const Installation = Schema.Struct({
  id: Schema.Int,
  suspended_at: Schema.optional(Schema.NullOr(Schema.String)),
  permissions: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { default: () => ({}) })
})

const Minted = Schema.Struct({ token: Schema.String.pipe(Schema.minLength(1)), expires_at: Schema.String })

const App = Schema.Struct({ slug: Schema.String.pipe(Schema.pattern(/^[\w.-]{1,100}$/)) })

/** Signs the statement of an app that it is itself, which is good for 10 minutes. `nowMs` is the time of the forge. */
const signed = ({ secrets, settings }: OpenConnection, nowMs: number): Effect.Effect<Redacted.Redacted> =>
  Effect.promise(async () => {
    const given = Redacted.value(secrets["private_key"] ?? Redacted.make("")).replaceAll("\\n", "\n")
    const privateKey = createPrivateKey(given).export({ type: "pkcs8", format: "pem" }).toString()
    const id = settings["client_id"] ?? ""
    const { token } = await githubAppJwt<string>({ id, privateKey, now: Math.floor(nowMs / 1000) })
    return Redacted.make(token)
  })

/** The time of the forge, in milliseconds since 1970, when it has refused a statement for the times in it; else undefined. */
const clockOf = ({ body, headers, status }: OutboundAnswer): number | undefined => {
  const isAboutTime = /\b(?:iat|exp)\b|issued at|expiration time/i.test(body)
  const time = Date.parse(headers.date ?? "")
  return status === 401 && isAboutTime && !Number.isNaN(time) ? time : undefined
}

/** Asks the forge in the name of the app itself. When the clocks of both differ, it takes the time of the forge, once a call. */
const askAsApp = Effect.fnUntraced(function* (connection: OpenConnection, { host, outbound }: MintMeans) {
  const { refusals: load } = host.forge
  const refusals = load && (yield* Effect.promise(load))
  return askForge({
    outbound,
    api: host.api,
    headers: host.forge.headers,
    ...(refusals && { refusals }),
    token: yield* signed(connection, yield* Clock.currentTimeMillis),
    renew: (_refused, answer) => {
      const time = clockOf(answer)
      return time === undefined ? Effect.succeed(undefined) : signed(connection, time)
    }
  })
})

/** A token for one repository, which the forge takes for an hour. Fails when the app is not installed there or may not do what is needed. */
export const mintToken = Effect.fnUntraced(function* (
  connection: OpenConnection,
  wanted: TokenWanted,
  means: MintMeans
): Effect.fn.Return<MintedToken, ForgeError> {
  const ask = yield* askAsApp(connection, means)
  const installation = yield* installationOf(ask, connection, wanted)
  const permissions = yield* granted(wanted, installation.permissions)
  const { expires_at, token } = yield* ask({
    method: "POST",
    path: `/app/installations/${installation.id}/access_tokens`,
    body: { repositories: [wanted.repository.split("/").at(-1) ?? ""], permissions }
  }).pipe(
    Effect.catchTag("Refusal", (refused) => Effect.fail(noToken(wanted, refused))),
    Effect.mapError(ofApp),
    Effect.flatMap(decodeAnswer(Minted))
  )
  return { token: Redacted.make(token), expiresAt: Date.parse(expires_at) }
})

/** The name with which the app writes comments on the forge. */
export const loginOfApp = Effect.fnUntraced(function* (connection: OpenConnection, means: MintMeans) {
  const ask = yield* askAsApp(connection, means)
  return yield* ask({ method: "GET", path: "/app" }).pipe(
    Effect.catchTag("Refusal", () => Effect.succeed(undefined)),
    Effect.mapError(ofApp),
    Effect.map((answer) => {
      const app = Schema.decodeUnknownOption(App)(answer)
      return app._tag === "Some" ? `${app.value.slug}[bot]` : undefined
    })
  )
})

/** Tries the key out: the forge says which app it is of. */
export const probeApp = (connection: OpenConnection, means: MintMeans): Effect.Effect<Verdict> =>
  Effect.merge(probe(connection, means))

const probe = Effect.fnUntraced(function* (connection: OpenConnection, { host, outbound }: MintMeans) {
  const at = yield* now
  const ask = (token: Redacted.Redacted) =>
    asking(outbound)({
      url: `${host.api}/app`,
      name: "GET /app",
      request: { headers: { "user-agent": "reins", ...host.forge.headers(Redacted.value(token)) } }
    })
  const first = yield* ask(yield* signed(connection, yield* Clock.currentTimeMillis))
  const time = clockOf(first.answer)
  const seen = time === undefined ? first : yield* ask(yield* signed(connection, time))
  const app = seen.answer.status === 200 ? readJson(App)(seen.answer.body) : undefined
  return app?._tag === "Some"
    ? passed(at, seen.evidence, [])
    : ((yield* refusal(seen, at, host.forge.refusals)) ?? unexpected(seen.evidence))
})

const installationOf = (ask: Ask, { settings }: OpenConnection, { repository }: TokenWanted) => {
  const id = settings["installation_id"]
  return ask({
    method: "GET",
    path: id === undefined ? `/repos/${repository}/installation` : `/app/installations/${id}`
  }).pipe(
    Effect.catchTag("Refusal", (refused) =>
      Effect.fail(
        refused.status === 404
          ? notInstalled(
              id === undefined ? `The app is not installed on ${repository}` : `The app has no installation ${id}`
            )
          : new ForgeError({
              kind: "rejected",
              message: `The forge does not show the installation of the app (${refusedWith(refused)})`
            })
      )
    ),
    Effect.mapError(ofApp),
    Effect.flatMap(decodeAnswer(Installation)),
    Effect.filterOrFail(
      ({ suspended_at }) => suspended_at === undefined || suspended_at === null,
      () =>
        new ForgeError({
          kind: "forbidden",
          message: "The installation of the app is suspended: let it work again on the forge."
        })
    )
  )
}

const notInstalled = (what: string) =>
  new ForgeError({ kind: "forbidden", message: `${what}: install it there, or use another connection.` })

/** The permissions to ask for, of those that the installation has. */
const granted = (
  { repository, use }: TokenWanted,
  has: Readonly<Record<string, string>>
): Effect.Effect<Permissions, ForgeError> => {
  const { needed, useful } = wantedFor[use]
  const rank = (level: string | undefined): number => levels.map(String).indexOf(level ?? "")
  const isGranted = ([name, level]: readonly [string, Level]): boolean => rank(has[name]) >= rank(level)
  const lacking = Object.entries(needed).filter((each) => !isGranted(each))
  if (lacking.length === 0)
    return Effect.succeed({ ...needed, ...Object.fromEntries(Object.entries(useful).filter(isGranted)) })
  const names = lacking.map(([name, level]) => `${name}: ${level}`).join(" and ")
  return Effect.fail(
    new ForgeError({
      kind: "forbidden",
      message: `The app lacks the permission ${names} on ${repository}: give it in the settings of the app, and accept it for the installation.`
    })
  )
}

const noToken = ({ repository }: TokenWanted, refused: Refusal): ForgeError =>
  refused.status === 422 || refused.status === 404
    ? notInstalled(`The forge gives the app no token for ${repository} (${refusedWith(refused)})`)
    : new ForgeError({ kind: "rejected", message: `The forge gives the app no token (${refusedWith(refused)})` })

/** A refusal of the key of an app in words that name what to change. */
const ofApp = (error: ForgeError): ForgeError =>
  error.kind === "unauthenticated"
    ? new ForgeError({
        kind: "unauthenticated",
        message:
          "The forge does not accept the key of the app: give its client_id and a private_key that is not deleted."
      })
    : error
