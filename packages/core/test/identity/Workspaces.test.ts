import { assert, layer as withLayer } from "@effect/vitest"
import { newId, SessionId, TurnId, type WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { Access } from "@reins/core/access/Access"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Members } from "@reins/core/identity/Members"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { identity, newAccount, nextMail, tokenIn } from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted, TestClock } from "effect"
import { principalOf } from "./Principals.js"

const newPerson = Effect.map(newAccount, (account) => ({ account, principal: principalOf(account) }))

type Person = Effect.Effect.Success<typeof newPerson>

const create = ({ principal }: Person, name = "Payments") =>
  Effect.flatMap(Workspaces, (workspaces) => workspaces.create(principal, { name }))

/** Somebody who has joined a workspace. */
const joined = (owner: Person, workspaceId: WorkspaceId, role: "member" | "owner") =>
  Effect.gen(function* () {
    const members = yield* Members
    const person = yield* newPerson
    yield* members.add(owner.principal, workspaceId, { email: person.account.email, role })
    yield* members.join(Redacted.make(tokenIn(yield* nextMail(person.account.email))))
    return person
  })

const codeOf = <A, E extends { readonly code: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ code }) => code)

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`Workspaces on ${name}`, (it) => {
    it.effect("who makes a workspace is its owner, and has it beside the personal one", () =>
      Effect.gen(function* () {
        const workspaces = yield* Workspaces
        const person = yield* newPerson
        const made = yield* create(person)
        assert.deepInclude(made, { name: "Payments", personal: false, role: "owner", budget: null })
        assert.deepStrictEqual(yield* workspaces.get(person.principal, made.id), made)
        const { items } = yield* workspaces.list(person.principal, {})
        assert.deepStrictEqual(
          items.map(({ name, personal }) => [name, personal]),
          [
            ["Payments", false],
            ["Personal", true]
          ]
        )
        assert.notStrictEqual(yield* workspaces.defaultFor(person.principal), made.id)
        assert.strictEqual(yield* codeOf(workspaces.get((yield* newPerson).principal, made.id)), "not_found")
      })
    )

    it.effect("credentials of one workspace make no other one, and neither do those without the scope admin", () =>
      Effect.gen(function* () {
        const workspaces = yield* Workspaces
        const person = yield* newPerson
        const { id } = yield* create(person)
        const bound: Principal = { ...person.principal, workspaceId: id }
        assert.strictEqual(yield* codeOf(workspaces.create(bound, { name: "Other" })), "forbidden")
        const writer: Principal = { ...person.principal, scopes: ["write"] }
        assert.strictEqual(yield* codeOf(workspaces.create(writer, { name: "Other" })), "insufficient_scope")
        assert.strictEqual(yield* codeOf(workspaces.update(writer, id, { name: "Other" })), "insufficient_scope")
      })
    )

    it.effect("an account makes at most 20 workspaces an hour", () =>
      Effect.gen(function* () {
        const person = yield* newPerson
        for (let made = 0; made < 20; made++) yield* create(person)
        assert.strictEqual(yield* codeOf(create(person)), "rate_limited")
        yield* create(yield* newPerson)
        yield* TestClock.adjust("61 minutes")
        yield* create(person)
      })
    )

    it.effect("owners rename a workspace, members do not", () =>
      Effect.gen(function* () {
        const workspaces = yield* Workspaces
        const owner = yield* newPerson
        const { id } = yield* create(owner)
        const member = yield* joined(owner, id, "member")
        const renamed = yield* workspaces.update(owner.principal, id, { name: "Billing" })
        assert.strictEqual(renamed.name, "Billing")
        assert.strictEqual((yield* workspaces.get(member.principal, id)).name, "Billing")
        assert.strictEqual(yield* codeOf(workspaces.update(member.principal, id, { name: "Mine" })), "forbidden")
        assert.strictEqual((yield* workspaces.update(owner.principal, id, {})).name, "Billing")
        const { workspaces: all } = yield* (yield* Accounts).me(member.principal)
        assert.include(
          all.map(({ name }) => name),
          "Billing"
        )
      })
    )

    it.effect("who leaves loses the workspace at once, with keys and turns", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const keys = yield* ApiKeys
        const access = yield* Access
        const owner = yield* newPerson
        const { id } = yield* create(owner)
        const member = yield* joined(owner, id, "member")
        const bound = yield* keys.create(member.principal, { name: "bound", workspace_id: id })
        const free = yield* keys.create(member.principal, { name: "free" })
        const turn: Principal = {
          accountId: member.account.id,
          scopes: ["write"],
          workspaceId: id,
          via: {
            kind: "turn",
            sessionId: yield* newId(SessionId),
            turnId: yield* newId(TurnId),
            providerId: "alpha",
            keyId: null
          }
        }
        yield* access.read(turn, id)
        assert.strictEqual(yield* codeOf(members.leave(turn, id)), "insufficient_scope")

        const left = yield* members.leave(member.principal, id)
        assert.deepInclude(left, { account_id: member.account.id, role: "member", state: "active" })
        for (const principal of [member.principal, turn])
          assert.strictEqual(yield* codeOf(access.read(principal, id)), "not_found")
        assert.isUndefined(yield* keys.authenticate(Redacted.make(bound.secret)))
        const still = yield* keys.authenticate(Redacted.make(free.secret))
        assert.strictEqual(still?.accountId, member.account.id)
        assert.strictEqual(yield* codeOf(access.read(still ?? member.principal, id)), "not_found")
        assert.strictEqual(yield* codeOf(members.leave(member.principal, id)), "not_found")
        assert.lengthOf((yield* members.list(owner.principal, id, {})).items, 1)
      })
    )

    it.effect("the last owner stays, and so does the account of a personal workspace", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const workspaces = yield* Workspaces
        const owner = yield* newPerson
        const { id } = yield* create(owner)
        yield* joined(owner, id, "member")
        assert.strictEqual(yield* codeOf(members.leave(owner.principal, id)), "invalid_transition")
        const second = yield* joined(owner, id, "owner")
        yield* members.leave(owner.principal, id)
        assert.strictEqual(yield* codeOf(members.leave(second.principal, id)), "invalid_transition")
        const personal = yield* workspaces.defaultFor(owner.principal)
        assert.strictEqual(yield* codeOf(members.leave(owner.principal, personal)), "invalid_transition")
      })
    )
  })
}
