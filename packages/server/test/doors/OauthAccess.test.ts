import { assert, describe, layer } from "@effect/vitest"
import { Database } from "@reins/core/store/Database"
import { Effect } from "effect"
import { change, password, send } from "../Service.js"
import {
  callTool,
  decide,
  newApp,
  newPerson,
  newPkce,
  register,
  requestOf,
  tokenRequest,
  visit
} from "./OauthPerson.js"
import { isDead, newSession, oauthServices, statusOf } from "./OauthService.js"

for (const { database, layer: onDatabase } of oauthServices())
  describe(`OAuth, access, on ${database}`, () => {
    layer(onDatabase, { excludeTestServices: true })((it) => {
      it.effect("no app gets more than it asked for and the person gave", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const { clientId } = yield* register()
          const { challenge } = newPkce()
          const reads = requestOf(clientId, challenge, { scope: "read admin everything" })
          const shown = yield* visit("GET", `/oauth/authorize?${reads}`, { cookie: person.cookie })
          assert.notInclude(shown.text, 'value="act"')
          assert.notInclude(shown.text, 'value="admin"')
          for (const fields of [
            { scope: "act" },
            { scope: "write" },
            { scope: "admin" },
            { scope: "read", lasts_days: "9000" },
            { scope: "read", lasts_days: "" }
          ]) {
            const sent = yield* decide(person, reads, fields)
            assert.deepStrictEqual([sent.status, sent.location], [400, null], JSON.stringify(fields))
          }
          const unnamed = yield* decide(person, requestOf(clientId, challenge, { scope: undefined }), {
            scope: "write"
          })
          assert.strictEqual(unnamed.location, null)
          const { clientId: reader, tokens } = yield* newApp(person, { scope: "read" })
          assert.strictEqual(tokens.scope, "read")
          const wider = { grant_type: "refresh_token", client_id: reader, refresh_token: tokens.refresh_token }
          // The app asked for more at first, so a refresh that names it gives what the person gave.
          const { json } = yield* tokenRequest({ ...wider, scope: "read act write" })
          assert.deepInclude(json, { scope: "read" })
          const start = yield* callTool(tokens.access_token, "start_session", { message: "Write." })
          assert.strictEqual(start.status, 403)
          assert.match(start.headers.get("www-authenticate") ?? "", /scope="read act", error="insufficient_scope"$/)
          const acting = yield* newApp(person)
          const deliver = yield* callTool(acting.tokens.access_token, "deliver", { changeset_id: "cs_x" })
          assert.strictEqual(deliver.status, 403)
          assert.match(deliver.headers.get("www-authenticate") ?? "", /scope="read act write"/)
          // A name that is written otherwise reaches no tool, and the API refuses by itself.
          assert.notInclude(
            (yield* callTool(tokens.access_token, "START_SESSION", { message: "W." })).text,
            "session_id"
          )
        })
      )

      it.effect("an app reaches one workspace, which its person belongs to", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const stranger = yield* newPerson
          const made = yield* change("POST", "/api/workspaces", { headers: person.bearer, body: { name: "Second" } })
          const second = (made.json as { id: string }).id
          const session_id = yield* newSession(person, second)
          const first = yield* newApp(person)
          const other = yield* newApp({ ...person, workspaceId: second })
          const seen = yield* callTool(other.tokens.access_token, "get_session", { session_id })
          assert.include(seen.text, session_id)
          assert.notInclude(seen.text, "not_found")
          for (const tool of ["get_session", "wait"]) {
            const { text } = yield* callTool(first.tokens.access_token, tool, { session_id })
            assert.include(text, "not_found", text)
          }
          assert.notInclude((yield* callTool(first.tokens.access_token, "list_sessions")).text, session_id)
          const { clientId } = yield* register()
          for (const workspace_id of [stranger.workspaceId, "wsp_x", ""]) {
            const sent = yield* decide(person, requestOf(clientId, newPkce().challenge), { workspace_id })
            assert.deepStrictEqual([sent.status, sent.location], [404, null])
          }
          // Nobody else sees or ends it.
          const mine = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
          const { items } = mine.json as { items: ReadonlyArray<{ id: string }> }
          assert.lengthOf(items, 2)
          const theirs = yield* send("GET", "/api/oauth-grants", { headers: stranger.bearer })
          assert.deepInclude(theirs.json, { items: [] })
          for (const { id } of items)
            assert.strictEqual(
              (yield* change("DELETE", `/api/oauth-grants/${id}`, { headers: stranger.bearer })).status,
              404
            )
        })
      )

      it.effect("an app is refused at once when its access, its role or its account is gone", () =>
        Effect.gen(function* () {
          const owner = yield* newPerson
          const { json } = yield* change("POST", "/api/workspaces", { headers: owner.bearer, body: { name: "Team" } })
          const workspaceId = (json as { id: string }).id
          const member = yield* newPerson
          yield* Effect.flatMap(Database, ({ run, sql }) =>
            run(
              sql`insert into workspace_members ${sql.insert({
                workspace_id: workspaceId,
                account_id: member.account.id,
                role: "member",
                created_at: new Date().toISOString()
              })}`
            )
          )
          const app = yield* newApp({ ...member, workspaceId })
          const start = (token: string) => callTool(token, "start_session", { message: "Write." })
          // The role of a viewer reads alone.
          yield* change("POST", `/api/workspaces/${workspaceId}/members`, {
            headers: owner.bearer,
            body: { email: member.email, role: "viewer" }
          })
          assert.include((yield* start(app.tokens.access_token)).text, "forbidden")
          assert.strictEqual(yield* statusOf(app.tokens.access_token), 200)
          yield* change("DELETE", `/api/workspaces/${workspaceId}/members/${member.account.id}`, {
            headers: owner.bearer
          })
          yield* isDead(app)
          const ended = yield* newApp(member)
          const listed = yield* send("GET", "/api/oauth-grants", { headers: member.bearer })
          const [grant] = (listed.json as { items: ReadonlyArray<{ id: string }> }).items
          assert.strictEqual(
            (yield* change("DELETE", `/api/oauth-grants/${grant?.id}`, { headers: member.bearer })).status,
            200
          )
          yield* isDead(ended)
          const before = yield* newApp(member)
          const changed = yield* change("POST", "/api/auth/password-changes", {
            headers: { cookie: member.cookie, "x-csrf-token": member.csrf },
            body: { current_password: password, new_password: "the otter sleeps on its back" }
          })
          assert.strictEqual(changed.status, 200)
          yield* isDead(before)
          const gone = yield* newPerson
          const last = yield* newApp(gone)
          yield* Effect.flatMap(Database, ({ run, sql }) =>
            run(sql`update accounts set state = 'disabled' where id = ${gone.account.id}`)
          )
          yield* isDead(last)
        })
      )

      it.effect("the person decides as with an API key, and the address takes nothing of that away", () =>
        Effect.gen(function* () {
          const person = yield* newPerson
          const session_id = yield* newSession(person, person.workspaceId)
          const input = { session_id, interaction_id: "int_x", option: "allow" }
          const asked = yield* newApp(person, { scope: "write" })
          const free = yield* newApp(person, { scope: "write", unattended: "yes" })
          for (const { tokens } of [asked, free]) {
            const answer = yield* callTool(tokens.access_token, "answer", input, "?unattended=true")
            assert.include(answer.text, "not_found", answer.text)
          }
          const listed = yield* send("GET", "/api/oauth-grants", { headers: person.bearer })
          const { items } = listed.json as { items: ReadonlyArray<{ unattended: boolean }> }
          assert.deepStrictEqual(
            items.map(({ unattended }) => unattended),
            [true, false]
          )
          // `unattended` counts with the scope that it is about.
          const less = yield* newApp(person, { scope: "act", unattended: "yes" })
          assert.strictEqual(less.tokens.scope, "read act")
        })
      )
    })
  })
