import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import { WorkspaceId } from "@reins/base/domain/Ids"
import { now } from "@reins/base/domain/Timestamp"
import { Vault } from "@reins/base/secrets/Vault"
import { ForgeError, type ForgeHooks } from "@reins/machine/forge/Forge"
import type { ForgeErrorKind } from "@reins/machine/forge/ForgeCalls"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect, Redacted, Schema } from "effect"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { TokenMint } from "../connections/TokenMint.js"
import { type AttemptLost, JobError, type JobKind, type RunningAttempt } from "../jobs/JobKind.js"
import type { HookRegistration } from "./Hook.js"
import { type HookRow, HookStore, hookPath, registrationOf, type StoredRegistration } from "./HookStore.js"
import { forgetJobKind, makeRegistering, registerJobKind } from "./Registering.js"
import { hookSecretContext } from "./SealedHooks.js"

const shared = {
  concurrency: 2,
  deadlineMs: 5 * 60_000,
  lost: () => Effect.succeed({ next: "retry" as const, command: Effect.void })
} satisfies Partial<JobKind>

/** A place where a forge has hooks. */
interface Place {
  readonly workspaceId: WorkspaceId
  readonly connection_id: string
  readonly repository: string
}

/** Gives the function that uses the hooks of a repository, and writes down whether its connection was good. */
const makeUse = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const forges = yield* Forges
  const mint = yield* TokenMint

  return Effect.fnUntraced(function* <A>(
    attempt: RunningAttempt,
    { connection_id, repository, workspaceId }: Place,
    use: (hooks: ForgeHooks) => Effect.Effect<A, ForgeError | AttemptLost>
  ): Effect.fn.Return<A, JobError | AttemptLost> {
    const work = Effect.gen(function* () {
      const connection = yield* connections
        .open(workspaceId, connection_id)
        .pipe(Effect.mapError(({ message }) => new ForgeError({ kind: "unauthenticated", message })))
      const observe = (health: "ready" | "reauth_required") =>
        attempt.commit(connections.observe(connection.id, connection.credentialId, health))
      const hooks = Effect.flatMap(mint.forApi(connection, repository), (tokened) =>
        forges.openHooks(tokened, repository)
      )
      return yield* Effect.flatMap(hooks, use).pipe(
        Effect.tapErrorTag("ForgeError", ({ kind }) =>
          kind === "unauthenticated" ? observe("reauth_required") : Effect.void
        ),
        Effect.tap(() => observe("ready"))
      )
    })
    return yield* Effect.catchTag(work, "ForgeError", (error) => Effect.fail(jobError(error)))
  })
})

const reasons: Readonly<Record<ForgeErrorKind, string>> = {
  unauthenticated: "auth_required",
  forbidden: "auth_required",
  not_found: "not_found",
  exists: "rejected",
  rejected: "rejected",
  remote_head_changed: "rejected",
  not_mergeable: "rejected",
  rate_limited: "rate_limited",
  unavailable: "remote_unavailable"
}

const jobError = ({ kind, message }: ForgeError): JobError =>
  new JobError({ code: reasons[kind], message, retryable: kind === "rate_limited" || kind === "unavailable" })

/** Makes a hook on its forge as its registration says, or removes it there. It looks first for one that calls the same address. */
export const registerJob = Effect.gen(function* () {
  const store = yield* HookStore
  const vault = yield* Vault
  const { publicUrl } = yield* CoreConfig
  const use = yield* makeUse
  const settle = yield* makeSettle

  const carryOut = Effect.fnUntraced(function* (
    attempt: RunningAttempt,
    row: HookRow,
    { connection_id, occasions, repository, state }: StoredRegistration
  ) {
    const url = `${publicUrl}${hookPath(row.id)}`
    const sealed = yield* Effect.orDie(vault.unseal(row.secret, hookSecretContext(row)))
    const wanted = { url, occasions, secret: Redacted.value(sealed) }
    yield* use(attempt, { workspaceId: row.workspace_id, connection_id, repository }, (hooks) =>
      Effect.gen(function* () {
        const known = yield* hooks.find(url)
        // Another worker may have taken the job over meanwhile.
        yield* attempt.commit(Effect.void)
        if (state === "removing") return known === undefined ? undefined : yield* hooks.remove(known)
        if (known === undefined) yield* hooks.create(wanted)
        else yield* hooks.update(known, wanted)
      })
    )
  })

  return {
    ...shared,
    kind: registerJobKind,
    run: fn("registerJob.run")(function* (attempt) {
      const row = yield* store.find(attempt.claim.subject.id)
      const registration = row && registrationOf(row)
      if (row === undefined || registration == null) return done
      yield* carryOut(attempt, row, registration)
      const end = registration.state === "removing" ? null : ({ state: "registered" } as const)
      return { state: "succeeded" as const, command: settle(row.id, registration.version, end) }
    }),
    failed: fn("registerJob.failed")(function* ({ subject }, { code, message }) {
      const row = yield* store.find(subject.id)
      const registration = row && registrationOf(row)
      if (registration == null) return
      yield* settle(subject.id, registration.version, { state: "failed", reason: code, reason_message: message })
    })
  } satisfies JobKind
})

/** Gives the commit that writes down how a registration went. When something else is wanted by now, another job begins. */
const makeSettle = Effect.gen(function* () {
  const store = yield* HookStore
  const { start } = yield* makeRegistering
  return Effect.fnUntraced(function* (id: string, version: number, end: Partial<HookRegistration> | null) {
    const row = yield* Effect.option(store.lock(id))
    if (row._tag === "None") return
    const registration = registrationOf(row.value)
    if (registration === null) return
    if (registration.version !== version) return yield* Effect.asVoid(start(row.value))
    const next = end === null ? null : JSON.stringify({ ...registration, ...end })
    yield* store.update(row.value.id, { registration: next, updated_at: yield* now })
  })
})

const Forgotten = Schema.Struct({ workspaceId: WorkspaceId, connection_id: Schema.String, repository: Schema.String })

/** Removes the hook of a forge whose own hook was removed. A hook that the forge does not remove calls an address that nobody answers. */
export const forgetJob = Effect.gen(function* () {
  const { publicUrl } = yield* CoreConfig
  const use = yield* makeUse
  return {
    ...shared,
    kind: forgetJobKind,
    run: fn("forgetJob.run")(function* (attempt) {
      const { claim } = attempt
      const place = yield* Effect.orDie(Schema.decodeUnknown(Forgotten)(claim.payload))
      yield* use(attempt, place, (hooks) =>
        Effect.gen(function* () {
          const known = yield* hooks.find(`${publicUrl}${hookPath(claim.subject.id)}`)
          if (known !== undefined) yield* hooks.remove(known)
        })
      )
      return done
    }),
    failed: () => Effect.void
  } satisfies JobKind
})

const done = { state: "succeeded", command: Effect.void } as const
