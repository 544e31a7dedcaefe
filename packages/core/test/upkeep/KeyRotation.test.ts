import { createPublicKey } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { newId, WorkspaceId } from "@reins/base/domain/Ids"
import { operator } from "@reins/base/domain/Principal"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { newRing, type Ring } from "@reins/base/secrets/KeyRingFile"
import { sealedWith, Vault } from "@reins/base/secrets/Vault"
import { credentialContext } from "@reins/core/connections/CredentialSeal"
import { signingKeyStore } from "@reins/core/deliveries/signing/SigningKeyStore"
import { publicLine } from "@reins/core/deliveries/signing/SshSignature"
import { LoginStore } from "@reins/core/identity/LoginStore"
import { Passwords } from "@reins/core/identity/Passwords"
import { projectSecretStore } from "@reins/core/projects/ProjectSecretStore"
import { sealedValues } from "@reins/core/Rooms"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { KeyRotation, requireKeys } from "@reins/core/upkeep/KeyRotation"
import { databases } from "@reins/testing/store/Databases"
import { Effect, Either, Layer, Option, Redacted, TestClock } from "effect"

const at = "2026-01-01T00:00:00.000Z"
const later = "2999-01-01T00:00:00.000Z"

/** A connection with a credential, sealed with the current key. */
const newCredential = (number: number) =>
  Effect.gen(function* () {
    const db = yield* Database
    const vault = yield* Vault
    const [workspace, connection, credential] = ["wsp", `con_${number}`, `cred_${number}`]
    const context = credentialContext({
      workspaceId: workspace,
      connectionId: connection,
      credentialId: credential,
      kind: "git",
      settings: "{}"
    })
    yield* db.run(db.sql`insert into workspaces ${db.sql.insert({ id: workspace, name: "w", created_at: at })}
      on conflict do nothing`)
    yield* db.run(
      db.sql`insert into connections ${db.sql.insert({
        id: connection,
        workspace_id: workspace,
        kind: "git",
        label: "l",
        settings: "{}",
        state: "active",
        health: "ready",
        credential_id: credential,
        version: 1,
        created_at: at,
        updated_at: at
      })}`
    )
    yield* db.run(
      db.sql`insert into credentials ${db.sql.insert({
        id: credential,
        connection_id: connection,
        ordinal: 1,
        state: "current",
        fingerprint: "f",
        sealed: yield* vault.seal(Redacted.make(`secret ${number}`), context),
        created_at: at
      })}`
    )
    const read = Effect.gen(function* () {
      const row = yield* db.first(db.sql<{ sealed: string }>`select sealed from credentials where id = ${credential}`)
      const sealed = row?.sealed ?? ""
      const secret = yield* vault.unseal(sealed, context)
      return { keyId: sealedWith(sealed), secret: Redacted.value(secret) }
    })
    return { read }
  })

/** A secret of a project, sealed with the current key. */
const newProjectSecret = Effect.gen(function* () {
  const db = yield* Database
  const secrets = yield* projectSecretStore
  const journal = yield* Journal
  const project = { id: "prj_1", workspace_id: "wsp" }
  yield* db.run(
    db.sql`insert into projects ${db.sql.insert({ ...project, slug: "p", name: "p", version: 1, created_at: at, updated_at: at })}`
  )
  yield* journal.commit(secrets.put(project, "token", Redacted.make("secret of a project")))
  return {
    open: Effect.map(
      secrets.open(project, "token"),
      Option.map(({ value }) => Redacted.value(value))
    ),
    ofOther: secrets.open({ ...project, workspace_id: "another" }, "token"),
    keyId: Effect.map(db.first(db.sql<{ sealed: string }>`select sealed from project_secrets`), (row) =>
      sealedWith(row?.sealed ?? "")
    )
  }
})

/** A signing key of a workspace, sealed with the current key. */
const newSigningKey = Effect.gen(function* () {
  const db = yield* Database
  const keys = yield* signingKeyStore
  const journal = yield* Journal
  const workspace = { id: yield* newId(WorkspaceId), name: "w", created_at: at }
  yield* db.run(db.sql`insert into workspaces ${db.sql.insert(workspace)}`)
  const key = yield* journal.commit(keys.add(workspace.id))
  return {
    open: Effect.map(keys.open(key.id), (opened) =>
      opened === undefined ? undefined : publicLine(createPublicKey(Redacted.value(opened)))
    ),
    publicKey: key.public_key,
    keyId: Effect.map(db.first(db.sql<{ sealed: string }>`select sealed from signing_keys`), (row) =>
      sealedWith(row?.sealed ?? "")
    )
  }
})

/** An answer that holds a secret, as a request stores it; called again it is replayed. */
const answered = (key: string) =>
  Effect.flatMap(Effect.all([Idempotency, Journal]), ([idempotency, journal]) =>
    idempotency.run({
      scope: "s",
      key,
      fingerprint: "f",
      sealed: true,
      command: journal.command(
        "test",
        { by: operator, about: { type: "test", id: null } },
        Effect.succeed("the secret")
      ),
      encode: (body) => ({ status: 201, body }),
      encodeError: () => ({ status: 500, body: null })
    })
  )

const services = KeyRotation.layerOf(sealedValues).pipe(
  Layer.provideMerge(LoginStore.layer),
  Layer.provideMerge(Layer.mergeAll(Idempotency.layer, Journal.layer, Passwords.layerTest)),
  Layer.provideMerge(Vault.layer)
)

/** Starts a machine with a ring of its own. */
const start = (ring: Ring) =>
  Effect.flatMap(Database, (db) =>
    Effect.either(
      Effect.scoped(
        Layer.build(
          requireKeys(sealedValues).pipe(
            Layer.provide(Layer.provideMerge(Vault.layer, KeyRing.layerOf(ring))),
            Layer.provide(Layer.succeed(Database, db))
          )
        )
      )
    )
  )

for (const { layer, name } of databases) {
  const withRing = (ring: Ring) => Layer.provideMerge(services, Layer.merge(layer, KeyRing.layerOf(ring)))

  describe(`KeyRotation on ${name}`, () => {
    it.effect("secrets open before and after, and an old key goes when nothing needs it and its hour is over", () =>
      Effect.gen(function* () {
        const rotation = yield* KeyRotation
        const ring = yield* KeyRing
        const first = ring.current.id
        const credentials = yield* Effect.forEach([1, 2, 3], newCredential)
        const ofProject = yield* newProjectSecret
        const signing = yield* newSigningKey
        yield* answered("k")
        const report = yield* rotation.rotate
        assert.notStrictEqual(report.current, first)
        assert.deepStrictEqual(
          { rewrapped: report.rewrapped, removed: report.removed, kept: report.kept },
          {
            rewrapped: 6,
            removed: [],
            kept: [{ id: first, credentials: 0, answers: 1, logins: 0, recent: true }]
          }
        )
        for (const [index, { read }] of credentials.entries())
          assert.deepStrictEqual(yield* read, { keyId: report.current, secret: `secret ${index + 1}` })
        assert.deepStrictEqual(
          [yield* ofProject.open, yield* ofProject.keyId],
          [Option.some("secret of a project"), report.current]
        )
        assert.deepStrictEqual([yield* signing.open, yield* signing.keyId], [signing.publicKey, report.current])
        // The seal is good for one project of one workspace, whatever a row says.
        assert.isTrue(Option.isNone(yield* ofProject.ofOther))
        // The answer is replayed although its fingerprint was made with the old key.
        assert.deepStrictEqual((yield* answered("k")).answer, { status: 201, body: "the secret" })
        assert.isTrue((yield* answered("k")).replayed)

        yield* TestClock.adjust("2 hours")
        assert.deepStrictEqual((yield* rotation.prune).removed, [])
        yield* TestClock.adjust("71 hours")
        const pruned = yield* rotation.prune
        assert.deepStrictEqual([pruned.rewrapped, pruned.removed, pruned.kept], [0, [first], []])
        assert.isUndefined(ring.find(first))
        for (const { read } of credentials) assert.strictEqual((yield* read).keyId, report.current)
      }).pipe(Effect.provide(withRing(newRing())))
    )

    it.effect("a rotation that was broken off is finished by the next, and what was sealed meanwhile opens too", () =>
      Effect.gen(function* () {
        const rotation = yield* KeyRotation
        const ring = yield* KeyRing
        const db = yield* Database
        const credentials = yield* Effect.forEach([1, 2], newCredential)
        const old = yield* db.first(db.sql<{ sealed: string }>`select sealed from credentials where id = 'cred_2'`)
        yield* rotation.rotate
        // As if it had been killed after the first of two.
        yield* db.run(db.sql`update credentials set sealed = ${old?.sealed} where id = 'cred_2'`)
        const third = yield* newCredential(3)
        const report = yield* rotation.rotate
        assert.strictEqual(report.rewrapped, 3)
        assert.lengthOf(report.kept, 2)
        for (const { read } of [...credentials, third]) assert.strictEqual((yield* read).keyId, ring.current.id)
      }).pipe(Effect.provide(withRing(newRing())))
    )

    it.effect("a login keeps the key that its CSRF token was made with", () =>
      Effect.gen(function* () {
        const rotation = yield* KeyRotation
        const db = yield* Database
        yield* db.run(
          db.sql`insert into accounts ${db.sql.insert({
            id: "acct_1",
            email: "a@example.com",
            password_hash: "h",
            state: "active",
            created_at: at,
            updated_at: at
          })}`
        )
        yield* db.run(
          db.sql`insert into login_sessions ${db.sql.insert({
            id: "l",
            hash: "h",
            account_id: "acct_1",
            created_at: "1970-01-01T00:00:00.000Z",
            last_seen_at: later,
            expires_at: later
          })}`
        )
        yield* rotation.rotate
        yield* TestClock.adjust("80 hours")
        const [kept] = (yield* rotation.prune).kept
        assert.deepStrictEqual([kept?.logins, kept?.answers, kept?.recent], [1, 0, false])
        yield* db.run(db.sql`update login_sessions set ended_at = ${at}`)
        assert.lengthOf((yield* rotation.prune).removed, 1)
      }).pipe(Effect.provide(withRing(newRing())))
    )

    it.effect(
      "a start is refused in words when a credential is sealed with a key that is not there, until it is given up",
      () =>
        Effect.gen(function* () {
          const sealing = newRing()
          yield* Effect.provide(newCredential(1), Layer.provideMerge(Vault.layer, KeyRing.layerOf(sealing)))
          assert.isTrue(Either.isRight(yield* start(sealing)))
          const other = newRing()
          const refused = yield* Effect.flip(Effect.flatten(start(other)))
          assert.match(refused.message, new RegExp(`sealed with the key ${sealing.current}.*reins keyring forget`, "s"))
          assert.isTrue(Either.isRight(yield* start({ ...other, forgotten: new Set([sealing.current]) })))
        }).pipe(Effect.provide(layer))
    )

    it.effect(
      name === "SQLite"
        ? "one machine may have any ring while nothing is sealed"
        : "a second machine with a fresh ring is told what to copy, and so is one whose ring was rotated elsewhere",
      () =>
        Effect.gen(function* () {
          const [first, fresh] = [newRing(), newRing()]
          assert.isTrue(Either.isRight(yield* start(first)))
          assert.isTrue(Either.isRight(yield* start(first)))
          const second = yield* start(fresh)
          if (name === "SQLite") return assert.isTrue(Either.isRight(second))
          assert.match(
            Either.isLeft(second) ? second.left.message : "it was let in",
            new RegExp(`current key is ${first.current}: copy the keyring\\.json of the machine`)
          )
          assert.isTrue(Either.isRight(yield* start(first)))
          // A ring that only names its key like the other one is another ring.
          const namesake = { ...fresh, current: first.current, keys: new Map([[first.current, Buffer.alloc(32)]]) }
          assert.isTrue(Either.isLeft(yield* start(namesake)))

          const rotated = yield* Effect.gen(function* () {
            yield* (yield* KeyRotation).rotate
            return (yield* KeyRing).ring()
          }).pipe(
            Effect.provide(
              Layer.provideMerge(
                services,
                Layer.merge(Layer.succeed(Database, yield* Database), KeyRing.layerOf(first))
              )
            )
          )
          const stale = yield* start(first)
          assert.include(Either.isLeft(stale) ? stale.left.message : "", rotated.current)
          assert.isTrue(Either.isRight(yield* start(rotated)))
          assert.isTrue(Either.isRight(yield* start({ ...fresh, forgotten: new Set([rotated.current]) })))
          assert.isTrue(Either.isLeft(yield* start(rotated)))
        }).pipe(Effect.provide(layer))
    )
  })
}
