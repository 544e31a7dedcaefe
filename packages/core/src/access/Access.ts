import { fn } from "@reins/base/base/Traced"
import type { Actor } from "@reins/base/domain/Event"
import { keyOf, type Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { Role } from "@reins/base/domain/Role"
import type { Scope } from "@reins/base/domain/Scope"
import { Context, Effect, Layer } from "effect"
import { Database } from "../store/Database.js"
import { roleQuery } from "./Memberships.js"
import { roleOf, roleWithin } from "./Reach.js"

/** The principal may not see it, so the answer is that it does not exist. */
export type Unseen = ReinsError<"not_found">

/** The principal may not change it. The answer is `forbidden` when the principal sees it, else `not_found`. */
export type Denied = ReinsError<"not_found" | "forbidden">

/** The credentials lack a scope. */
export type ScopeMissing = ReinsError<"insufficient_scope">

/**
 * Decides what a principal may do in a workspace. A workspace that the principal does not belong to is answered like one that does
 * not exist. A change that its role does not allow is `forbidden`.
 */
export class Access extends Context.Tag("@reins/core/access/Access")<
  Access,
  {
    /** The role of the principal in the workspace. */
    readonly read: (principal: Principal, workspaceId: string) => Effect.Effect<Role, Unseen>
    /** The role of the principal, if it may change what is in the workspace: a viewer may not. */
    readonly write: (principal: Principal, workspaceId: string) => Effect.Effect<Role, Denied>
    /** `read` for what belongs to any of the sessions of the workspace. */
    readonly readWithin: (
      principal: Principal,
      workspaceId: string,
      sessionIds: ReadonlyArray<string | null>
    ) => Effect.Effect<Role, Unseen>
    /** `write` for what belongs to any of the sessions of the workspace. */
    readonly writeWithin: (
      principal: Principal,
      workspaceId: string,
      sessionIds: ReadonlyArray<string | null>
    ) => Effect.Effect<Role, Denied>
    /** Fails unless the principal is an owner of the workspace. */
    readonly own: (principal: Principal, workspaceId: string) => Effect.Effect<void, Denied>
    /** Fails unless the principal is an owner of the workspace, and its credentials carry the scope `admin`. */
    readonly manage: (principal: Principal, workspaceId: string) => Effect.Effect<void, Denied | ScopeMissing>
    /** Fails unless the credentials carry the scope, or one that includes it. */
    readonly requireScope: (principal: Principal, scope: Scope) => Effect.Effect<void, ScopeMissing>
  }
>() {
  static readonly layer = Layer.effect(
    Access,
    Effect.gen(function* () {
      const db = yield* Database
      const roleIn = db.prepare((workspaceId: string, accountId: string) => roleQuery(db.sql, workspaceId, accountId))
      const roleOfAccount = ({ accountId }: Principal, workspaceId: string): Effect.Effect<Role | null> =>
        Effect.map(db.first(roleIn(workspaceId, accountId)), (member) => member?.role ?? null)
      const read = fn("Access.read")(function* (principal: Principal, workspaceId: string) {
        return yield* seen(roleOf(principal, workspaceId, yield* roleOfAccount(principal, workspaceId)))
      })
      const own = fn("Access.own")(function* (principal: Principal, workspaceId: string) {
        const role = yield* read(principal, workspaceId)
        if (role === "owner") return
        return yield* new ReinsError({
          code: "forbidden",
          message: `Your role in this workspace is ${role}. Only an owner may do this.`,
          details: { role, workspace_id: workspaceId }
        })
      })
      return Access.of({
        read,
        write: fn("Access.write")(function* (principal, workspaceId) {
          return yield* requireChange(yield* read(principal, workspaceId), workspaceId)
        }),
        readWithin: fn("Access.readWithin")(function* (principal, workspaceId, sessionIds) {
          return yield* mayRead(principal, workspaceId, sessionIds, yield* roleOfAccount(principal, workspaceId))
        }),
        writeWithin: fn("Access.writeWithin")(function* (principal, workspaceId, sessionIds) {
          return yield* mayWrite(principal, workspaceId, sessionIds, yield* roleOfAccount(principal, workspaceId))
        }),
        own,
        manage: (principal, workspaceId) =>
          Effect.zipRight(own(principal, workspaceId), requireScope(principal, "admin")),
        requireScope
      })
    })
  )
}

const requireScope = (principal: Principal, scope: Scope): Effect.Effect<void, ScopeMissing> =>
  covers(principal.scopes, scope)
    ? Effect.void
    : Effect.fail(
        new ReinsError({
          code: "insufficient_scope",
          message: `These credentials lack the scope "${scope}". Use an API key that has it.`,
          details: { required: scope, scopes: principal.scopes }
        })
      )

/** `Access.readWithin` for a caller that has read the role of the account in the workspace. The role is null when there is none. */
export const mayRead = (
  principal: Principal,
  workspaceId: string,
  sessionIds: ReadonlyArray<string | null>,
  role: Role | null
): Effect.Effect<Role, Unseen> => seen(roleWithin(principal, workspaceId, sessionIds, role))

/** `Access.writeWithin` for a caller that has read the role of the account in the workspace. The role is null when there is none. */
export const mayWrite = (
  principal: Principal,
  workspaceId: string,
  sessionIds: ReadonlyArray<string | null>,
  role: Role | null
): Effect.Effect<Role, Denied> =>
  Effect.flatMap(mayRead(principal, workspaceId, sessionIds, role), (reached) => requireChange(reached, workspaceId))

const seen = (role: Role | null): Effect.Effect<Role, Unseen> =>
  role === null ? Effect.fail(notFound()) : Effect.succeed(role)

const requireChange = (role: Role, workspaceId: string): Effect.Effect<Role, ReinsError<"forbidden">> =>
  role !== "viewer"
    ? Effect.succeed(role)
    : Effect.fail(
        new ReinsError({
          code: "forbidden",
          message: "Your role in this workspace is viewer, which may only read. Ask an owner for another role.",
          details: { role, workspace_id: workspaceId }
        })
      )

/** True when an account of that role, which may see the workspace, would pass `Access.write` and the scope of its endpoints. */
export const canChange = (principal: Principal, role: Role): boolean =>
  role !== "viewer" && covers(principal.scopes, "write")

const includes: Record<Scope, ReadonlyArray<Scope>> = {
  read: ["read"],
  act: ["act", "read"],
  write: ["write", "act", "read"],
  admin: ["admin", "write", "act", "read"]
}

const covers = (scopes: ReadonlyArray<Scope>, wanted: Scope): boolean =>
  scopes.some((scope) => includes[scope].includes(wanted))

/**
 * The author of the events that a principal causes: its API key, or else its account. An automation acts as the one that it was made by. The events
 * of an agent are its own.
 */
export const actorOf = (principal: Principal): Actor => {
  if (principal.via.kind === "turn") return { kind: "harness", id: principal.via.providerId }
  const keyId = keyOf(principal)
  return keyId === null ? { kind: "account", id: principal.accountId } : { kind: "api_key", id: keyId }
}

/** The author of the events that the service itself causes. `id` names its part. */
export const systemActor = (id: string): Actor => ({ kind: "system", id })
