import { assert, layer as withLayer } from "@effect/vitest"
import { newId, WorkspaceId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import { now } from "@reins/base/domain/Timestamp"
import { Access } from "@reins/core/access/Access"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Members } from "@reins/core/identity/Members"
import { Database } from "@reins/core/store/Database"
import {
  countRows,
  everythingStored,
  goodPassword,
  identity,
  newAccount,
  newClient,
  newEmail,
  nextMail,
  publicUrl,
  tokenIn
} from "@reins/testing/identity/Identity"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Either, Redacted, TestClock } from "effect"
import { principalOf } from "./Principals.js"

/** Somebody with the own personal workspace. */
const newOwner = Effect.gen(function* () {
  const accounts = yield* Accounts
  const account = yield* newAccount
  const principal = principalOf(account)
  const { workspaces } = yield* accounts.me(principal)
  return { account, principal, workspaceId: workspaces[0]?.id ?? (yield* Effect.dieMessage("no workspace")) }
})

/** A workspace that belongs to nobody in person, with one owner. */
const newShared = Effect.gen(function* () {
  const db = yield* Database
  const { account, principal } = yield* newOwner
  const workspaceId = yield* newId(WorkspaceId)
  const created_at = yield* now
  const workspace = { id: workspaceId, name: "Team", personal_account_id: null, created_at }
  const member = { workspace_id: workspaceId, account_id: account.id, role: "owner", created_at }
  yield* db.run(db.sql`insert into workspaces ${db.sql.insert(workspace)}`)
  yield* db.run(db.sql`insert into workspace_members ${db.sql.insert(member)}`)
  return { account, principal, workspaceId }
})

type Place = Effect.Effect.Success<typeof newOwner>

const invite = (place: Place, email: string, role: Role) =>
  Effect.flatMap(Members, (members) => members.add(place.principal, place.workspaceId, { email, role }))

/** Somebody who was invited and has followed the link. */
const newMember = (place: Place, role: Role) =>
  Effect.gen(function* () {
    const members = yield* Members
    const account = yield* newAccount
    yield* invite(place, account.email, role)
    yield* members.join(Redacted.make(tokenIn(yield* nextMail(account.email))))
    return { account, principal: principalOf(account), workspaceId: place.workspaceId }
  })

const list = ({ principal, workspaceId }: Place) =>
  Effect.flatMap(Members, (members) => Effect.map(members.list(principal, workspaceId, {}), ({ items }) => items))

const remove = (place: Place, id: string) =>
  Effect.flatMap(Members, (members) => members.remove(place.principal, place.workspaceId, id))

const roleOf = ({ principal, workspaceId }: Place) =>
  Effect.flatMap(Access, (access) => access.read(principal, workspaceId))

for (const { name, layer } of flowDatabases) {
  withLayer(identity(layer))(`Members on ${name}`, (it) => {
    it.effect("an invited person becomes a member with the link in the mail, once, and no sooner", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const place = yield* newOwner
        const { email, id } = yield* newAccount
        const invited = yield* invite(place, email.toUpperCase(), "member")
        assert.deepInclude(invited, { email, role: "member", state: "invited", account_id: null, display_name: null })
        assert.deepStrictEqual(
          (yield* list(place)).map((member) => [member.email, member.state]),
          [
            [email, "invited"],
            [place.account.email, "active"]
          ]
        )
        const mail = yield* nextMail(email)
        const token = tokenIn(mail)
        assert.include(mail.text, `${publicUrl}/join?${token}`)
        assert.include(mail.text, `${place.account.email} invites you as member`)
        assert.notInclude(yield* everythingStored, token)
        const joined = yield* members.join(Redacted.make(token))
        assert.deepStrictEqual(joined, { workspaceId: place.workspaceId })
        const again = yield* Effect.flip(members.join(Redacted.make(token)))
        assert.strictEqual(again.code, "token_expired")
        assert.deepStrictEqual(
          (yield* list(place))
            .map((member) => `${member.id} ${member.account_id} ${member.role} ${member.state}`)
            .sort(),
          [`${id} ${id} member active`, `${place.account.id} ${place.account.id} owner active`].sort()
        )
      })
    )

    it.effect("inviting answers and lists the same for an address with an account and one without", () =>
      Effect.gen(function* () {
        const place = yield* newOwner
        const known = (yield* newAccount).email
        const unknown = newEmail()
        const seen = (member: Effect.Effect.Success<ReturnType<typeof invite>>) => ({ ...member, id: "", email: "" })
        const [one, other] = [yield* invite(place, known, "viewer"), yield* invite(place, unknown, "viewer")]
        assert.deepStrictEqual(seen(one), seen(other))
        const listed = (yield* list(place)).filter((member) => member.state === "invited")
        assert.deepStrictEqual(listed, [other, one])
      })
    )

    it.effect("who has no account registers first, and the link is good afterwards", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const members = yield* Members
        const place = yield* newOwner
        const email = newEmail()
        yield* invite(place, email, "viewer")
        const token = Redacted.make(tokenIn(yield* nextMail(email)))
        assert.strictEqual((yield* Effect.flip(members.join(token))).code, "email_unverified")
        yield* accounts.register({ email, password: goodPassword }, newClient())
        assert.strictEqual((yield* Effect.flip(members.join(token))).code, "email_unverified")
        yield* accounts.verifyEmail({ token: tokenIn(yield* nextMail(email)) })
        yield* members.join(token)
        const account = yield* accounts.get(email)
        assert.strictEqual(yield* roleOf({ ...place, principal: principalOf(account) }), "viewer")
      })
    )

    it.effect("only owners with the scope admin change members, members and viewers see them, others see nothing", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const place = yield* newOwner
        const stranger = { ...(yield* newOwner), workspaceId: place.workspaceId }
        const target = yield* newMember(place, "viewer")
        for (const role of ["member", "viewer"] as const) {
          const low = yield* newMember(place, role)
          assert.strictEqual((yield* Effect.flip(invite(low, newEmail(), "viewer"))).code, "forbidden")
          assert.strictEqual((yield* Effect.flip(remove(low, target.account.id))).code, "forbidden")
          assert.strictEqual((yield* Effect.flip(invite(low, low.account.email, "owner"))).code, "forbidden")
          assert.isAbove((yield* list(low)).length, 1)
        }
        const writer = { ...place, principal: { ...place.principal, scopes: ["write" as const] } }
        assert.strictEqual((yield* Effect.flip(invite(writer, newEmail(), "viewer"))).code, "insufficient_scope")
        assert.strictEqual((yield* Effect.flip(remove(writer, target.account.id))).code, "insufficient_scope")
        const attempts: ReadonlyArray<Effect.Effect<unknown, ReinsError, Members>> = [
          members.list(stranger.principal, place.workspaceId, {}),
          invite(stranger, newEmail(), "viewer"),
          remove(stranger, target.account.id)
        ]
        for (const attempt of attempts) assert.strictEqual((yield* Effect.flip(attempt)).code, "not_found")
        assert.strictEqual((yield* Effect.flip(remove(place, stranger.account.id))).code, "not_found")
      })
    )

    it.effect("a role changes at once, and a removed member is a stranger from the next request on", () =>
      Effect.gen(function* () {
        const access = yield* Access
        const place = yield* newOwner
        const member = yield* newMember(place, "member")
        yield* access.write(member.principal, place.workspaceId)
        assert.deepInclude(yield* invite(place, member.account.email, "viewer"), { role: "viewer", state: "active" })
        assert.strictEqual((yield* Effect.flip(access.write(member.principal, place.workspaceId))).code, "forbidden")
        assert.strictEqual((yield* remove(place, member.account.id)).id, member.account.id)
        assert.strictEqual((yield* Effect.flip(roleOf(member))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(remove(place, member.account.id))).code, "not_found")
      })
    )

    it.effect("the keys that a removed member has for the workspace stop for good, the others go on", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const members = yield* Members
        const place = yield* newOwner
        const member = yield* newMember(place, "member")
        const bound = yield* keys.create(member.principal, { name: "bound", workspace_id: place.workspaceId })
        const free = yield* keys.create(member.principal, { name: "free" })
        const works = (secret: string) =>
          Effect.map(keys.authenticate(Redacted.make(secret)), (one) => one !== undefined)
        assert.isTrue(yield* works(bound.secret))
        yield* remove(place, member.account.id)
        assert.deepStrictEqual([yield* works(bound.secret), yield* works(free.secret)], [false, true])
        yield* invite(place, member.account.email, "member")
        yield* members.join(Redacted.make(tokenIn(yield* nextMail(member.account.email))))
        assert.isFalse(yield* works(bound.secret))
      })
    )

    it.effect("the last owner can be neither removed nor demoted, one of two can", () =>
      Effect.gen(function* () {
        const place = yield* newShared
        const self = place.account
        assert.strictEqual((yield* Effect.flip(remove(place, self.id))).code, "invalid_transition")
        assert.strictEqual((yield* Effect.flip(invite(place, self.email, "member"))).code, "invalid_transition")
        const second = yield* newMember(place, "owner")
        assert.strictEqual((yield* invite(second, self.email, "member")).role, "member")
        assert.strictEqual((yield* Effect.flip(remove(second, second.account.id))).code, "invalid_transition")
        assert.strictEqual((yield* remove(place, self.id)).id, self.id)
      })
    )

    it.effect("of two owners who remove each other at the same time, one stays", () =>
      Effect.gen(function* () {
        const place = yield* newShared
        const second = yield* newMember(place, "owner")
        const results = yield* Effect.all(
          [Effect.either(remove(place, second.account.id)), Effect.either(remove(second, place.account.id))],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(results.filter(Either.isRight).length, 1)
        assert.strictEqual(yield* countRows("workspace_members", "workspace_id", place.workspaceId), 1)
      })
    )

    it.effect("an owner whose account is disabled does not count as one", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const place = yield* newShared
        const second = yield* newMember(place, "owner")
        yield* accounts.disable(second.account.id)
        assert.strictEqual((yield* Effect.flip(remove(place, place.account.id))).code, "invalid_transition")
      })
    )

    it.effect("the personal workspace of an account stays its own", () =>
      Effect.gen(function* () {
        const place = yield* newOwner
        const second = yield* newMember(place, "owner")
        assert.strictEqual((yield* Effect.flip(remove(second, place.account.id))).code, "invalid_transition")
        const demoted = invite(second, place.account.email, "viewer")
        assert.strictEqual((yield* Effect.flip(demoted)).code, "invalid_transition")
      })
    )

    it.effect("a member may leave", () =>
      Effect.gen(function* () {
        const place = yield* newOwner
        const member = yield* newMember(place, "viewer")
        yield* remove(member, member.account.id)
        assert.strictEqual((yield* Effect.flip(roleOf(member))).code, "not_found")
      })
    )

    it.effect("an invitation ends when it is taken back, after 7 days, and with whoever sent it", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const place = yield* newShared
        const invited = (from: Place) =>
          Effect.gen(function* () {
            const { email } = yield* newAccount
            const { id } = yield* invite(from, email, "owner")
            return { id, token: Redacted.make(tokenIn(yield* nextMail(email))) }
          })
        const refused = (token: Redacted.Redacted) => Effect.map(Effect.flip(members.join(token)), ({ code }) => code)
        const back = yield* invited(place)
        assert.strictEqual((yield* remove(place, back.id)).state, "invited")
        assert.strictEqual(yield* refused(back.token), "token_expired")
        const elsewhere = yield* invited(yield* newOwner)
        assert.strictEqual((yield* Effect.flip(remove(place, elsewhere.id))).code, "not_found")
        const second = yield* newMember(place, "owner")
        const orphan = yield* invited(second)
        yield* remove(place, second.account.id)
        assert.strictEqual(yield* refused(orphan.token), "token_expired")
        const late = yield* invited(place)
        yield* TestClock.adjust("7 days")
        assert.strictEqual(yield* refused(late.token), "token_expired")
        assert.isTrue((yield* list(place)).every((member) => member.state === "active"))
        yield* members.purge
        assert.strictEqual(yield* countRows("workspace_invitations", "workspace_id", place.workspaceId), 0)
      })
    )

    it.effect("inviting again changes the one invitation, and mails no address more than 3 times an hour", () =>
      Effect.gen(function* () {
        const place = yield* newOwner
        const email = newEmail()
        const first = yield* invite(place, email, "owner")
        for (let time = 0; time < 4; time++) {
          const again = yield* invite(place, email, "viewer")
          assert.deepStrictEqual([again.id, again.role], [first.id, "viewer"])
        }
        assert.strictEqual(yield* countRows("jobs", "subject_id", first.id), 3)
      })
    )

    it.effect("an account sends at most 50 invitations an hour", () =>
      Effect.gen(function* () {
        const place = yield* newOwner
        for (let time = 0; time < 50; time++) yield* invite(place, newEmail(), "viewer")
        const error = yield* Effect.flip(invite(place, newEmail(), "viewer"))
        assert.deepStrictEqual([error.code, error.retryAfterSeconds], ["rate_limited", 3600])
        assert.deepStrictEqual(error.details, { policy: "invitations", limit: 50, window_seconds: 3600 })
        yield* TestClock.adjust("1 hour")
        yield* invite(place, newEmail(), "viewer")
      })
    )

    it.effect("the list comes in pages that hold everybody once", () =>
      Effect.gen(function* () {
        const members = yield* Members
        const place = yield* newOwner
        for (let time = 0; time < 2; time++) yield* newMember(place, "member")
        for (let time = 0; time < 2; time++) yield* invite(place, newEmail(), "member")
        const all = yield* list(place)
        const seen: Array<string> = []
        let cursor: string | null | undefined
        while (cursor !== null) {
          const page: Effect.Effect.Success<ReturnType<typeof members.list>> = yield* members.list(
            place.principal,
            place.workspaceId,
            { limit: 2, ...(cursor !== undefined && { cursor }) }
          )
          seen.push(...page.items.map((member) => member.id))
          cursor = page.next_cursor
        }
        assert.deepStrictEqual(
          seen,
          all.map((member) => member.id)
        )
        assert.strictEqual(new Set(seen).size, 5)
      })
    )
  })
}
