import { assert } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { Effect } from "effect"
import {
  callTool,
  errorOf,
  newApp,
  newCode,
  newPerson,
  refresh,
  type Tokens,
  tokenRequest,
  visit
} from "../doors/OauthPerson.js"
import { change, send } from "../Service.js"
import { nodesOf, type TestNode } from "./Nodes.js"

/** Two nodes behind one public URL, and somebody who uses apps. */
const twoNodes = Effect.gen(function* () {
  const [a, b] = yield* nodesOf(["a", "b"], { public_url: "https://reins.example.com" })
  return { a, b, person: yield* a.on(newPerson) }
})

/** The status of a call of a tool at a node. */
const statusAt = (node: TestNode, { access_token }: Tokens) =>
  Effect.map(node.on(callTool(access_token, "list_sessions")), ({ status }) => status)

const tokensOf = ({ json }: { readonly json: unknown }) => json as Tokens

/** Neither node takes anything more of an access. */
const isDead = Effect.fnUntraced(function* (nodes: ReadonlyArray<TestNode>, clientId: string, tokens: Tokens) {
  for (const node of nodes) {
    assert.strictEqual(yield* statusAt(node, tokens), 401, node.name)
    assert.strictEqual(errorOf(yield* node.on(refresh(clientId, tokens.refresh_token))), "invalid_grant", node.name)
  }
})

sandboxed("a token of one node works on the other, and is refused there by the request after its end", () =>
  Effect.gen(function* () {
    const { a, b, person } = yield* twoNodes
    // The person allowed it at one node, and the app fetched its tokens at the other.
    const { clientId, form } = yield* a.on(newCode(person))
    const first = tokensOf(yield* b.on(tokenRequest(form)))
    for (const node of [a, b, a]) assert.strictEqual(yield* statusAt(node, first), 200, node.name)
    const { json } = yield* b.on(send("GET", "/api/oauth-grants", { headers: person.bearer }))
    const [grant] = (json as { readonly items: ReadonlyArray<{ readonly id: string }> }).items
    const ended = yield* a.on(change("DELETE", `/api/oauth-grants/${grant?.id}`, { headers: person.bearer }))
    assert.strictEqual(ended.status, 200)
    yield* isDead([b, a], clientId, first)

    const second = yield* b.on(newApp(person))
    for (const node of [a, b]) assert.strictEqual(yield* statusAt(node, second.tokens), 200, node.name)
    const given = { client_id: second.clientId, token: second.tokens.access_token }
    assert.strictEqual((yield* a.on(visit("POST", "/oauth/revoke", {}, given))).status, 200)
    assert.strictEqual(yield* statusAt(b, second.tokens), 401)
    const third = tokensOf(yield* a.on(refresh(second.clientId, second.tokens.refresh_token)))
    assert.strictEqual(yield* statusAt(b, third), 200)
    yield* b.on(visit("POST", "/oauth/revoke", {}, { client_id: second.clientId, token: third.refresh_token }))
    yield* isDead([a, b], second.clientId, third)
  })
)

sandboxed("a code that comes again at the other node gives nothing, and ends what it gave", () =>
  Effect.gen(function* () {
    const { a, b, person } = yield* twoNodes
    const late = yield* a.on(newApp(person))
    assert.strictEqual(errorOf(yield* b.on(tokenRequest(late.form))), "invalid_grant")
    yield* isDead([a, b], late.clientId, late.tokens)

    const { clientId, form } = yield* a.on(newCode(person))
    const replies = yield* Effect.forEach([a, b, a, b, a, b, a, b], (node) => node.on(tokenRequest(form)), {
      concurrency: "unbounded"
    })
    const good = replies.filter(({ status }) => status === 200).map(tokensOf)
    assert.lengthOf(good, 1)
    for (const tokens of good) yield* isDead([a, b], clientId, tokens)
  })
)

sandboxed("refresh tokens rotate across nodes: a retry gets the same answer, and a replay ends all", () =>
  Effect.gen(function* () {
    const { a, b, person } = yield* twoNodes
    const { clientId, tokens } = yield* a.on(newApp(person))
    const replies = yield* Effect.forEach(
      [a, b, a, b, a, b, a, b],
      (node) => node.on(refresh(clientId, tokens.refresh_token)),
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual([...new Set(replies.map(({ status }) => status))], [200])
    assert.strictEqual(new Set(replies.map(({ text }) => text)).size, 1)
    const [next] = replies.map(tokensOf)
    if (next === undefined) return assert.fail("nobody answered")
    for (const node of [a, b]) assert.strictEqual(yield* statusAt(node, next), 200, node.name)

    // The successor was used at one node, so the old token is a theft at the other.
    const third = tokensOf(yield* b.on(refresh(clientId, next.refresh_token)))
    assert.strictEqual(yield* statusAt(a, third), 200)
    assert.strictEqual(errorOf(yield* a.on(refresh(clientId, tokens.refresh_token))), "invalid_grant")
    yield* isDead([b, a], clientId, third)

    // Past the ten seconds of a retry the same holds without a successor.
    const other = yield* b.on(newApp(person))
    const second = tokensOf(yield* b.on(refresh(other.clientId, other.tokens.refresh_token)))
    const past = new Date(Date.now() - 11_000).toISOString()
    yield* a.on(
      Effect.flatMap(Database, ({ run, sql }) =>
        run(sql`update oauth_tokens set used_at = ${past} where used_at is not null`)
      )
    )
    assert.strictEqual(errorOf(yield* a.on(refresh(other.clientId, other.tokens.refresh_token))), "invalid_grant")
    yield* isDead([b, a], other.clientId, second)
  })
)
