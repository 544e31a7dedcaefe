import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { Vault } from "@reins/base/secrets/Vault"
import { Access } from "@reins/core/access/Access"
import { BudgetStore } from "@reins/core/budgets/BudgetStore"
import { Accounts } from "@reins/core/identity/Accounts"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import * as IdentityStores from "@reins/core/identity/IdentityStores"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { type Mail, Mailer, type MailRefused } from "@reins/core/identity/Mailer"
import * as MailJob from "@reins/core/identity/MailJob"
import { Members } from "@reins/core/identity/Members"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { Passwords } from "@reins/core/identity/Passwords"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { JobClaims } from "@reins/core/jobs/JobClaims"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Jobs } from "@reins/core/jobs/Jobs"
import * as Worker from "@reins/core/jobs/Worker"
import { oneMachine } from "@reins/core/placement/Placements"
import type { Bell } from "@reins/core/store/Bell"
import { Database } from "@reins/core/store/Database"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Journal } from "@reins/core/store/Journal"
import { Context, Effect, Fiber, Layer, Option, Queue, Redacted, TestClock } from "effect"
import { aMoment } from "../process/Waiting.js"

export const publicUrl = "https://reins.example.com"

/** A mailer for tests. They can wait for a mail by its address, and make it refuse mail. */
export class Mailbox extends Context.Tag("@reins/core/test/identity/Mailbox")<
  Mailbox,
  {
    /** The next mail to the address, in the order in which they were sent. */
    readonly take: (email: string) => Effect.Effect<Mail>
    /** Refuses the next mail to the address. */
    readonly refuseNext: (email: string, refused: MailRefused) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effectContext(
    Effect.sync(() => {
      const queues = new Map<string, Queue.Queue<Mail>>()
      const refusals = new Map<string, MailRefused>()
      const queueOf = (email: string) =>
        Effect.suspend(() => {
          const queue = queues.get(email)
          return queue === undefined
            ? Effect.tap(Queue.unbounded<Mail>(), (made) => Effect.sync(() => queues.set(email, made)))
            : Effect.succeed(queue)
        })
      return Context.make(
        Mailbox,
        Mailbox.of({
          take: (email) => Effect.flatMap(queueOf(email), Queue.take),
          refuseNext: (email, refused) => Effect.sync(() => refusals.set(email, refused))
        })
      ).pipe(
        Context.add(
          Mailer,
          Mailer.of({
            send: (mail) =>
              Effect.suspend(() => {
                const refused = refusals.get(mail.to)
                refusals.delete(mail.to)
                return refused === undefined
                  ? Effect.flatMap(queueOf(mail.to), (queue) => Queue.offer(queue, mail))
                  : Effect.fail(refused)
              })
          })
        )
      )
    })
  )
}

const jobs = Layer.provide(
  Layer.mergeAll(Jobs.layer, JobStore.layer, JobClaims.layer),
  CoreConfig.layer({ dataDir: "/nonexistent" })
)

/** The whole identity room on a database. */
export const identity = (
  database: Layer.Layer<Database | Bell>,
  passwords: Layer.Layer<Passwords> = Passwords.layerTest
) => identityWith(database, passwords, Mailbox.layer)

/** The same with another mailer. */
export const identityWith = <M>(
  database: Layer.Layer<Database | Bell>,
  passwords: Layer.Layer<Passwords>,
  mailer: Layer.Layer<M>
) =>
  Layer.mergeAll(Accounts.layer, PasswordChanges.layer, Members.layer, Workspaces.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(LoginSessions.layer, ApiKeys.layer, jobs, Boot.layerSingle)),
    Layer.provideMerge(oneMachine),
    Layer.provideMerge(Layer.mergeAll(Access.layer, BudgetStore.layer, IdentityStores.layer, Idempotency.layer)),
    Layer.provideMerge(Journal.layer),
    Layer.provide(CoreConfig.layer({ dataDir: "/nonexistent" })),
    Layer.provideMerge(Layer.mergeAll(Vault.layer, passwords, mailer)),
    Layer.provideMerge(KeyRing.layerMemory),
    Layer.provideMerge(database)
  )

export const goodPassword = "a quiet heron at noon"

export const mailWorker = Worker.layer(Effect.map(MailJob.make({ publicUrl }), (kind) => [kind]))

const runningJobs = Effect.gen(function* () {
  const db = yield* Database
  return yield* db.all(db.sql`select id from jobs where state = 'running'`)
})

/** Runs a worker until the next mail to the address is sent. The worker stops then, because it would wake up all through a simulated day. */
export const nextMail = (email: string) =>
  Effect.gen(function* () {
    const mailbox = yield* Mailbox
    const mail = yield* mailbox.take(email)
    yield* Effect.repeat(Effect.zipRight(aMoment, runningJobs), { until: (jobs) => jobs.length === 0 })
    return mail
  }).pipe(Effect.provide(mailWorker))

let people = 0
/** An address that no other test uses. */
export const newEmail = (): string => `person${++people}@example.com`

let clients = 0
/** A client that no other test uses. */
export const newClient = () => {
  clients += 1
  return { clientAddress: `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}` }
}

export const newAccount = Effect.gen(function* () {
  const accounts = yield* Accounts
  return yield* accounts.createVerified({ email: newEmail(), password: Redacted.make(goodPassword) })
})

/** The token that a mail holds. */
export const tokenIn = (mail: Mail): string => /\?([\w-]{43})\s/.exec(mail.text)?.[1] ?? "no token"

/** Lets the time pass, second by second, until the effect is through. */
export const passTimeUntil = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* Effect.repeat(Effect.zipRight(TestClock.adjust("1 second"), Effect.map(Fiber.poll(fiber), Option.isSome)), {
      until: (done) => done
    })
    return yield* Fiber.join(fiber)
  })

/** Everything that the database holds, as one text. */
export const everythingStored = Effect.gen(function* () {
  const db = yield* Database
  const tables = yield* db.all(
    db.dialect === "pg"
      ? db.sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`
      : db.sql<{ name: string }>`select name from sqlite_master where type = 'table'`
  )
  const rows = yield* Effect.forEach(tables, ({ name }) => db.all(db.sql`select * from ${db.sql(name)}`))
  return JSON.stringify(rows)
})

export const countRows = (table: string, column: string, value: string) =>
  Effect.gen(function* () {
    const db = yield* Database
    const row = yield* db.first(db.sql<{ n: number }>`select cast(count(*) as integer) as n from ${db.sql(table)}
      where ${db.sql(column)} = ${value}`)
    return row?.n ?? 0
  })
