import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { change, newCaller, newKey, password, type Reply, service } from "../Service.js"

/** An answer as a client sees it, without what is new in every one. */
const seen = ({ headers, status, text }: Reply) => ({
  status,
  text: text.replace(/"request_id":"[^"]*"/, '"request_id":"*"'),
  headers: [...headers].filter(([name]) => !["date", "x-request-id"].includes(name))
})

layer(service(), { excludeTestServices: true })(
  "an answer tells nothing about whether an address has an account",
  (it) => {
    const attempts: Readonly<Record<string, (email: string) => Readonly<Record<string, string>>>> = {
      "/api/auth/register": (email) => ({ email, password }),
      "/api/auth/login": (email) => ({ email, password: "not the one at all" }),
      "/api/auth/password-resets": (email) => ({ email }),
      "/api/auth/email-verifications": (email) => ({ email })
    }
    const statuses = { "/api/auth/register": 202, "/api/auth/login": 401 }
    for (const [path, body] of Object.entries(attempts)) {
      it.effect(`to POST ${path}: status, headers and body are the same`, () =>
        Effect.gen(function* () {
          const { email } = yield* newCaller()
          const known = yield* change("POST", path, { body: body(email) })
          const unknown = yield* change("POST", path, { body: body(`${newKey()}@example.com`) })
          assert.deepStrictEqual(seen(known), seen(unknown))
          assert.strictEqual(known.status, Object.entries(statuses).find(([name]) => name === path)?.[1] ?? 200)
        })
      )
    }
  }
)
