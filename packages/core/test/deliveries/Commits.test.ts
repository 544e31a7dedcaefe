import { execFileSync } from "node:child_process"
import { generateKeyPairSync } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it, layer } from "@effect/vitest"
import { ChangesetId, MessageId, newId, type SessionId, type TurnId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { actorOf } from "@reins/core/access/Access"
import type { Changeset } from "@reins/core/changes/Changeset"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Connections } from "@reins/core/connections/Connections"
import { Validations } from "@reins/core/connections/Validations"
import { makeAuthorship } from "@reins/core/deliveries/Authors"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import type { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import { DeliveryStore } from "@reins/core/deliveries/DeliveryStore"
import { SigningKeys } from "@reins/core/deliveries/signing/SigningKeys"
import { publicLine, sshSignature } from "@reins/core/deliveries/signing/SshSignature"
import * as Embedded from "@reins/core/Embedded"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import { Projects } from "@reins/core/projects/Projects"
import { MessageStore } from "@reins/core/sessions/messages/MessageStore"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Journal } from "@reins/core/store/Journal"
import { unworked } from "@reins/testing/changes/DeliveryAttempts"
import {
  captured,
  codeOf,
  eventOf,
  forgeConnection,
  installation,
  operationEnd,
  remote,
  sealed,
  system,
  workspace
} from "@reins/testing/changes/Fixture"
import { plainGit, temporary } from "@reins/testing/git/Fixture"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { principalOf } from "../identity/Principals.js"

const committer = { name: "Reins of Acme", email: "reins@acme.example" }

const ends = ["delivery.succeeded", "delivery.failed", "delivery.blocked", "delivery.cancelled"]

const deliver = (changeset: Changeset, input: DeliveryInput = {}) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const deliveries = yield* Deliveries
    const { delivery, event_watermark } = yield* deliveries.request(principal, changeset.id, input)
    yield* eventOf(delivery.session_id, event_watermark, ...ends)
    return yield* deliveries.get(principal, delivery.id)
  })

/** The names that the account of the embedding program can set for its commits. */
const ownerGit = Effect.gen(function* () {
  const { principal } = yield* Embedded.owner
  const { account } = yield* (yield* Accounts).me(principal)
  return { name: "Ann Ämter", email: account.email }
})

/** Takes a changeset for delivered, without a job and a remote. */
const deliveredAs = (changeset: Changeset) =>
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const { id } = yield* unworked(changeset, "https://gitea.example.com/acme/shop.git", "work")
    yield* (yield* Journal).commit(
      Effect.zipRight(store.move(id, { state: "executing" }, system), store.move(id, { state: "succeeded" }, system))
    )
  })

const person = (name: string) =>
  Effect.gen(function* () {
    const password = Redacted.make("correct horse battery staple")
    return principalOf(yield* (yield* Accounts).createVerified({ email: `${name}@example.com`, password }))
  })

const named = (name: string) =>
  Effect.gen(function* () {
    const principal = yield* person(name)
    const git = { name, email: `${name}@example.com` }
    yield* (yield* Accounts).updateMe(principal, { git })
    return { principal, git, line: `Co-authored-by: ${name} <${name}@example.com>` }
  })

/** A message that the agent was given. */
const said = (sessionId: SessionId, by: Principal) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const messages = yield* MessageStore
    const sessions = yield* SessionStore
    const id = yield* newId(MessageId)
    const author = actorOf(by)
    const content = [{ type: "text" as const, text: "Go on" }]
    yield* (yield* Journal).commit(
      Effect.gen(function* () {
        yield* sessions.writable(principal, sessionId)
        const given = {
          id,
          session_id: sessionId,
          role: "user",
          kind: "message",
          author,
          routing: "queue",
          content
        } as const
        const { message } = yield* messages.accept(given, author)
        yield* messages.deliver(message, author)
      })
    )
    return id
  })

/** A changeset that is captured now, of a turn if it is given one. */
const capturedNow = (sessionId: SessionId, turnId: TurnId | null = null) =>
  Effect.gen(function* () {
    const store = yield* ChangesetStore
    const id = yield* newId(ChangesetId)
    const from = { origin: "explicit", label: null, turnId } as const
    yield* (yield* Journal).commit(
      Effect.zipRight(store.open(id, sessionId, system, from), store.seal(id, captured, system))
    )
    return (yield* store.find(id)) ?? assert.fail("no changeset")
  })

for (const { layer: database, name } of flowDatabases) {
  layer(services(database), { excludeTestServices: true })(`the people of a commit on ${name}`, (it) => {
    it.scoped("an account names only an address that it has proved, and takes it back", () =>
      Effect.gen(function* () {
        const accounts = yield* Accounts
        const principal = yield* person("eve")
        for (const email of ["ann@example.com", "eve@example.com.evil"]) {
          const refused = yield* Effect.flip(accounts.updateMe(principal, { git: { name: "Eve", email } }))
          assert.instanceOf(refused, RequestInvalid)
        }
        const git = { name: "Eve", email: "Eve@example.com" }
        assert.deepStrictEqual((yield* accounts.updateMe(principal, { git })).git, git)
        assert.deepStrictEqual((yield* accounts.updateMe(principal, {})).git, git)
        assert.isNull((yield* accounts.updateMe(principal, { git: null })).git)
        const bound = { ...principal, workspaceId: (yield* Embedded.owner).workspaceId }
        assert.strictEqual(yield* codeOf(accounts.updateMe(bound, { git })), "forbidden")
      })
    )

    it.scoped("the author began the turn, those who said more since the last delivery are co-authors", () =>
      Effect.gen(function* () {
        const shown = yield* sealed
        const authorship = yield* makeAuthorship
        const journal = yield* Journal
        const session = yield* Effect.flatMap(SessionStore, (store) =>
          store.readable(shown.principal, shown.session.id)
        )
        const of = (changeset: Changeset, author: "requester" | "service" = "requester", trailers = {}) =>
          authorship(session, changeset, { author, trailers, asker: actorOf(shown.principal) })
        const one = yield* named(`one-${name.toLowerCase()}`)
        const two = yield* named(`two-${name.toLowerCase()}`)
        const silent = yield* person(`silent-${name.toLowerCase()}`)
        const began = yield* said(session.id, one.principal)
        const { turn } = yield* journal.commit(
          Effect.gen(function* () {
            const held = yield* (yield* SessionStore).writable(shown.principal, session.id)
            return yield* (yield* TurnStore)
              .queueAnyway(held, actorOf(one.principal), began)
              .pipe(Effect.map((turn) => ({ turn })))
          })
        )
        const key = yield* (yield* ApiKeys).create(two.principal, { name: "ci" })
        for (const by of [silent, { ...two.principal, via: { kind: "api_key" as const, keyId: key.id } }])
          yield* said(session.id, by as Principal)
        const first = yield* capturedNow(session.id, turn.id)
        const ids = [`Reins-Session: ${session.id}`, `Reins-Changeset: ${first.id}`]
        assert.deepStrictEqual(yield* of(first), { author: one.git, trailers: [...ids, two.line] })
        // The service itself is the author, and people have had their share.
        assert.deepStrictEqual(yield* of(first, "service"), { author: null, trailers: [...ids, one.line, two.line] })
        const all = { session: false, co_authors: false, assisted_by: true }
        assert.deepStrictEqual((yield* of(first, "requester", all)).trailers, ["Assisted-by: OpenCode:scripted-1"])
        // Without a turn, the last one who spoke is the author.
        assert.deepStrictEqual((yield* of(yield* capturedNow(session.id))).author, two.git)
        yield* deliveredAs(first)
        yield* said(session.id, two.principal)
        const second = yield* of(yield* capturedNow(session.id))
        assert.deepStrictEqual(second.author, two.git)
        assert.notInclude(second.trailers.join(), one.git.email)
      }).pipe(Effect.scoped)
    )
  })

  layer(installation(database, { gitCommitter: committer }), { excludeTestServices: true })(
    `commits on ${name}`,
    (it) => {
      it.scoped("a delivery has the author of its turn, and the service as its committer", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change, principal, session } = yield* workspace(origin.url)
          yield* (yield* Accounts).updateMe(principal, { git: yield* ownerGit })
          yield* said(session.id, principal)
          const changeset = yield* change({ "a.txt": "ONE\n" })
          const done = yield* deliver(changeset)
          const show = (format: string) => origin.git("log", "-1", `--format=${format}`, done.target_ref)
          const git = yield* ownerGit
          assert.strictEqual(show("%an <%ae>"), `${git.name} <${git.email}>`)
          assert.strictEqual(show("%cn <%ce>"), "Reins of Acme <reins@acme.example>")
          assert.strictEqual(show("%(trailers:key=Reins-Session,valueonly)"), session.id)
          const second = yield* deliver(yield* change({ "a.txt": "TWO\n" }), { onto: "head", author: "service" })
          assert.deepInclude(second, { state: "succeeded", author: null })
          assert.strictEqual(show("%an"), committer.name)
          yield* (yield* Accounts).updateMe(principal, { git: null })
        })
      )

      it.scoped(
        "the private address of a forge account is good for whoever has posted its token, while it is current",
        () =>
          Effect.gen(function* () {
            const accounts = yield* Accounts
            const { principal } = yield* Embedded.owner
            for (const [kind, email] of [
              ["github", "7+Ann@users.noreply.127.0.0.1"],
              ["gitlab", "7-ann@users.noreply.127.0.0.1"]
            ] as const) {
              const origin = yield* remote(kind)
              const git = { name: "Ann", email }
              const set = accounts.updateMe(principal, { git })
              const connection = yield* forgeConnection(kind, origin.base)
              assert.instanceOf(yield* Effect.flip(set), RequestInvalid)
              const { operation } = yield* (yield* Validations).request(principal, connection.id)
              yield* operationEnd(operation.id)
              assert.deepStrictEqual((yield* set).git, git)
              const other = yield* person(`other-${kind}-${name.toLowerCase()}`)
              assert.instanceOf(yield* Effect.flip(accounts.updateMe(other, { git })), RequestInvalid)
              yield* (yield* Connections).disconnect(principal, connection.id)
              assert.instanceOf(yield* Effect.flip(accounts.updateMe(principal, { git })), RequestInvalid)
            }
            yield* accounts.updateMe(principal, { git: null })
          })
      )

      it.scoped("a project that signs waits for a key, and git verifies what it has signed", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { principal, workspaceId } = yield* Embedded.owner
          const projects = yield* Projects
          const spec = { repository: { url: origin.url }, delivery: { sign: true } }
          const project = yield* projects.create(principal, workspaceId, { slug: "signed", name: "Signed" })
          yield* projects.publish(principal, project.id, { spec })
          const { change } = yield* workspace(origin.url, { project_id: project.id })
          const blocked = yield* deliver(yield* change({ "a.txt": "ONE\n" }))
          assert.deepInclude(blocked, { state: "blocked", reason: "signing_key_missing", key_id: null })
          const keys = yield* SigningKeys
          const key = yield* keys.create(principal, workspaceId)
          assert.notInclude(JSON.stringify(key), "sealed")
          const deliveries = yield* Deliveries
          const again = yield* deliveries.retry(principal, blocked.id)
          yield* eventOf(again.delivery.session_id, again.event_watermark, ...ends)
          const first = yield* deliveries.get(principal, blocked.id)
          assert.deepInclude(first, { state: "succeeded", key_id: key.id, signs: true }, JSON.stringify(first))
          const second = yield* deliver(yield* change({ "a.txt": "TWO\n" }), { onto: "head" })
          assert.deepInclude(second, { state: "succeeded", key_id: key.id })
          const allowed = join(yield* temporary, "allowed")
          writeFileSync(allowed, `${committer.email} ${key.public_key}\n`)
          for (const commit of [first.commit ?? "", second.commit ?? ""])
            origin.git("-c", `gpg.ssh.allowedSignersFile=${allowed}`, "verify-commit", commit)
          // What is shown is what ssh-keygen makes of the public half.
          const listed = execFileSync("ssh-keygen", ["-lf", "-"], { input: key.public_key, encoding: "utf8" })
          assert.include(listed, key.fingerprint)
          const removed = yield* keys.remove(principal, key.id)
          assert.strictEqual(removed.id, key.id)
          assert.strictEqual(yield* codeOf(keys.remove(principal, key.id)), "not_found")
          const third = yield* deliver(yield* change({ "a.txt": "THREE\n" }), { onto: "head" })
          assert.deepInclude(third, { state: "blocked", reason: "signing_key_missing" })
        })
      )

      it.scoped("only owners see the keys of their workspace, and make at most twenty", () =>
        Effect.gen(function* () {
          const { principal } = yield* Embedded.owner
          const { workspaces } = yield* (yield* Accounts).me(principal)
          const workspaceId = workspaces[0]?.id ?? assert.fail("no workspace")
          const keys = yield* SigningKeys
          const stranger = yield* person(`stranger-${name.toLowerCase()}`)
          assert.strictEqual(yield* codeOf(keys.create(stranger, workspaceId)), "not_found")
          assert.strictEqual(
            yield* codeOf(keys.list({ ...principal, scopes: ["write"] }, workspaceId, { limit: 5 })),
            "insufficient_scope"
          )
          const made = yield* Effect.replicateEffect(keys.create(principal, workspaceId), 20)
          assert.strictEqual(yield* codeOf(keys.create(principal, workspaceId)), "quota_exhausted")
          assert.deepInclude((yield* keys.list(principal, workspaceId, { limit: 1 })).items[0], {
            id: made.at(-1)?.id ?? assert.fail("no key")
          })
          yield* Effect.forEach(made, ({ id }) => keys.remove(principal, id))
        })
      )
    }
  )
}

describe("an SSH signature", () => {
  it.scoped("is taken by git for the bytes and the key that it was made with, and for no others", () =>
    Effect.gen(function* () {
      const folder = yield* temporary
      plainGit(folder, "init", "--quiet", ".")
      const tree = plainGit(folder, "write-tree")
      const mine = generateKeyPairSync("ed25519")
      const foreign = generateKeyPairSync("ed25519")
      const allowed = join(folder, "allowed")
      writeFileSync(allowed, `reins@example.com ${publicLine(mine.publicKey)}\n`)
      const verifies = (content: string) => {
        const commit = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], {
          cwd: folder,
          input: content
        })
        try {
          plainGit(folder, "-c", `gpg.ssh.allowedSignersFile=${allowed}`, "verify-commit", String(commit).trim())
          return true
        } catch {
          return false
        }
      }
      const who = "Reins <reins@example.com> 1780000000 +0000"
      for (const message of ["plain", "with ü and\n\n gpgsig in it\n", ""]) {
        const text = `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nA ${message}`
        const signed = (key: typeof mine) => {
          const signature = sshSignature(key.privateKey, Buffer.from(text)).replaceAll("\n", "\n ")
          return text.replace("\n\n", `\ngpgsig ${signature}\n\n`)
        }
        assert.isTrue(verifies(signed(mine)))
        assert.isFalse(verifies(signed(mine).replace("\n\nA ", "\n\nB ")))
        assert.isFalse(verifies(signed(foreign)))
        assert.strictEqual(signed(mine), signed(mine))
      }
    })
  )
})
