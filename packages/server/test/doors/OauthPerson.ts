import { createHash, randomBytes } from "node:crypto"
import { Server } from "@reins/server/Server"
import { Effect } from "effect"
import { assert } from "vitest"
import { change, newCaller, password, type Reply, send } from "../Service.js"

/** The redirect of an app on the machine of its person. */
export const callback = "http://127.0.0.1:53999/callback"

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url")

/** The secret of an app for one authorization, and what it shows of it first. */
export const newPkce = () => {
  const verifier = randomBytes(32).toString("base64url")
  return { verifier, challenge: sha256(verifier) }
}

const cookieOf = ({ headers }: Pick<Reply, "headers">): string =>
  headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ")

/** Logs somebody in with a browser. */
export const loggedIn = Effect.fnUntraced(function* (email: string, known = password) {
  const login = yield* change("POST", "/api/auth/login", { body: { email, password: known } })
  const cookie = cookieOf(login)
  const me = yield* send("GET", "/api/me", { headers: { cookie } })
  const { csrf_token, workspaces } = me.json as {
    readonly csrf_token: string
    readonly workspaces: ReadonlyArray<{ readonly id: string }>
  }
  return { cookie, csrf: csrf_token, workspaceId: workspaces[0]?.id ?? "" }
})

/** Somebody with an account who is logged in with a browser. */
export const newPerson = Effect.gen(function* () {
  const caller = yield* newCaller()
  return { ...caller, ...(yield* loggedIn(caller.email)) }
})
export type Person = Effect.Effect.Success<typeof newPerson>

/** The requests of a browser, which follow no redirect. */
export const visit = (
  method: "GET" | "POST",
  path: string,
  headers: Readonly<Record<string, string>> = {},
  form?: Readonly<Record<string, string>>
): Effect.Effect<Reply & { readonly location: string | null }, never, Server> =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async () => {
      const answer = await fetch(url + path, {
        method,
        redirect: "manual",
        headers: { ...(form && { "content-type": "application/x-www-form-urlencoded" }), ...headers },
        ...(form && { body: new URLSearchParams(form) })
      })
      const text = await answer.text()
      return {
        status: answer.status,
        headers: answer.headers,
        text,
        json: text.startsWith("{") ? JSON.parse(text) : undefined,
        location: answer.headers.get("location")
      }
    })
  )

let networks = 0
/** An address that no registration has come from. The service believes the proxy in front of it. */
const newAddress = (): string => `10.${++networks >> 8}.${networks & 255}.1`

export const register = (metadata: Readonly<Record<string, unknown>> = {}, from = newAddress()) =>
  Effect.map(
    send("POST", "/oauth/register", {
      headers: { "x-forwarded-for": from },
      body: { client_name: "Claude", redirect_uris: [callback], ...metadata }
    }),
    (reply) => ({ reply, clientId: (reply.json as { client_id: string } | undefined)?.client_id ?? "" })
  )

/** A request that is as it should be, but for what is given. Undefined leaves a parameter out. */
export const requestOf = (
  clientId: string,
  challenge: string,
  other: Readonly<Record<string, string | undefined>> = {}
): string => {
  const all = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: callback,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "the state",
    scope: "read act write",
    ...other
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, value)
  return query.toString()
}

/** The hidden fields of a page. */
export const hiddenOf = ({ text }: Pick<Reply, "text">): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name = "", value = ""]) => [
      name,
      value.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    ])
  )

export const sameSite = { "sec-fetch-site": "same-origin", origin: "null" }

/** Opens the page of a request, and sends its form. */
export const decide = (
  { cookie, workspaceId }: Pick<Person, "cookie" | "workspaceId">,
  query: string,
  fields: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = sameSite
) =>
  Effect.gen(function* () {
    const page = yield* visit("GET", `/oauth/authorize?${query}`, { cookie })
    assert.strictEqual(page.status, 200, page.text)
    const form = {
      ...hiddenOf(page),
      decision: "allow",
      scope: "act",
      workspace_id: workspaceId,
      lasts_days: "30",
      ...fields
    }
    return yield* visit("POST", "/oauth/authorize", { cookie, ...headers }, form)
  })

export interface Tokens {
  readonly token_type: string
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly scope: string
}

export const tokenRequest = (form: Readonly<Record<string, string>>) => visit("POST", "/oauth/token", {}, form)

/** An app that a person lets in: its code, and what redeems it. */
export const newCode = (
  person: Pick<Person, "cookie" | "workspaceId">,
  fields: Readonly<Record<string, string>> = {},
  other: Readonly<Record<string, string | undefined>> = {}
) =>
  Effect.gen(function* () {
    const { clientId } = yield* register()
    const { challenge, verifier } = newPkce()
    const sent = yield* decide(person, requestOf(clientId, challenge, other), fields)
    assert.strictEqual(sent.status, 303, sent.text)
    const answer = new URL(sent.location ?? "").searchParams
    const form = {
      grant_type: "authorization_code",
      client_id: clientId,
      code: answer.get("code") ?? "",
      redirect_uri: callback,
      code_verifier: verifier
    }
    return { clientId, answer, form }
  })

export const newApp = (
  person: Pick<Person, "cookie" | "workspaceId">,
  fields: Readonly<Record<string, string>> = {},
  other: Readonly<Record<string, string | undefined>> = {}
) =>
  Effect.gen(function* () {
    const { answer, clientId, form } = yield* newCode(person, fields, other)
    const given = yield* tokenRequest(form)
    assert.strictEqual(given.status, 200, given.text)
    const tokens = given.json as Tokens
    return { clientId, answer, form, tokens }
  })

const protocol = { accept: "application/json, text/event-stream", "content-type": "application/json" }

/** A request to `/mcp` in the protocol of 2025. */
export const ask = (token: string, method: string, params: object = {}, query = "") =>
  send("POST", `/mcp${query}`, {
    headers: { ...protocol, authorization: `Bearer ${token}` },
    body: { jsonrpc: "2.0", id: 1, method, params }
  })

/** Calls a tool, and gives the status and the text of the answer. */
export const callTool = (token: string, name: string, input: object = {}, query = "") =>
  ask(token, "tools/call", { name, arguments: input }, query)

export const refresh = (clientId: string, refresh_token: string) =>
  tokenRequest({ grant_type: "refresh_token", client_id: clientId, refresh_token })

export const errorOf = ({ json }: Pick<Reply, "json">): unknown => (json as { error?: unknown } | undefined)?.error

/** Lets an app in for somebody. Gives the id of its access. */
export const newGrant = (person: { readonly email: string; readonly bearer: Readonly<Record<string, string>> }) =>
  Effect.gen(function* () {
    yield* newApp(yield* loggedIn(person.email))
    const { json } = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
    return (json as { readonly items: ReadonlyArray<{ readonly id: string }> }).items[0]?.id ?? ""
  })
