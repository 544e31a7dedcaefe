import type { SqlClient, Statement } from "@effect/sql"
import { Context, Effect, Layer } from "effect"
import { fn } from "../base/Traced.js"
import type { Role } from "../domain/Account.js"
import type { Scope } from "../domain/ApiKey.js"
import type { Actor } from "../domain/Event.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { Database } from "../store/Database.js"

/** The refusal of a principal that may not see something: it is answered as if that did not exist. */
export type Unseen = ReinsError<"not_found">

/** The refusal of a principal that may not change something; it may be told so when it sees that thing. */
export type Denied = ReinsError<"not_found" | "forbidden">

/**
 * Decides what a principal may do in a workspace. A workspace that the principal does not belong to is answered like one that does
 * not exist; what it belongs to but may not change is `forbidden`.
 */
export class Access extends Context.Tag("@reins/core/access/Access")<
  Access,
  {
    /** The role of the principal in the workspace. */
    readonly read: (principal: Principal, workspaceId: string) => Effect.Effect<Role, Unseen>
    /** `read` for a principal that may change what is there: a viewer may not. */
    readonly write: (principal: Principal, workspaceId: string) => Effect.Effect<Role, Denied>
    /** Lets owners through alone. */
    readonly own: (principal: Principal, workspaceId: string) => Effect.Effect<void, Denied>
    /** Lets credentials through that carry the scope, or one that includes it. */
    readonly requireScope: (principal: Principal, scope: Scope) => Effect.Effect<void, ReinsError<"insufficient_scope">>
  }
>() {
  static readonly layer = Layer.effect(
    Access,
    Effect.gen(function* () {
      const db = yield* Database
      const roleIn = db.prepare((workspaceId: string, accountId: string) => roleQuery(db.sql, workspaceId, accountId))
      const read = fn("Access.read")(function* (principal: Principal, workspaceId: string) {
        const member = yield* db.first(roleIn(workspaceId, principal.accountId))
        return yield* mayRead(principal, workspaceId, member?.role ?? null)
      })
      return Access.of({
        read,
        write: fn("Access.write")(function* (principal, workspaceId) {
          const member = yield* db.first(roleIn(workspaceId, principal.accountId))
          return yield* mayWrite(principal, workspaceId, member?.role ?? null)
        }),
        own: fn("Access.own")(function* (principal, workspaceId) {
          const role = yield* read(principal, workspaceId)
          if (role === "owner") return
          return yield* new ReinsError({
            code: "forbidden",
            message: `Your role in this workspace is ${role}. Only an owner may do this.`,
            details: { role, workspace_id: workspaceId }
          })
        }),
        requireScope: (principal, scope) =>
          covers(principal.scopes, scope)
            ? Effect.void
            : Effect.fail(
                new ReinsError({
                  code: "insufficient_scope",
                  message: `These credentials lack the scope "${scope}". Use an API key that has it.`,
                  details: { required: scope, scopes: principal.scopes }
                })
              )
      })
    })
  )
}

/**
 * The role of an account in a workspace, as a query of one row at most. It can stand as a column in the statement of another room, which
 * saves that room a statement; `workspaceId` is then a column of that statement.
 */
export const roleQuery = (sql: SqlClient.SqlClient, workspaceId: string | Statement.Fragment, accountId: string) =>
  sql<{ readonly role: Role }>`select role from workspace_members
    where workspace_id = ${workspaceId} and account_id = ${accountId}`

/** `Access.read` where the role of the account in the workspace has been read already; null without one. */
export const mayRead = (principal: Principal, workspaceId: string, role: Role | null): Effect.Effect<Role, Unseen> => {
  const isElsewhere = principal.workspaceId !== null && principal.workspaceId !== workspaceId
  return role === null || isElsewhere ? Effect.fail(notFound()) : Effect.succeed(role)
}

/** `Access.write` where the role of the account in the workspace has been read already; null without one. */
export const mayWrite = (principal: Principal, workspaceId: string, role: Role | null): Effect.Effect<Role, Denied> => {
  const readable = mayRead(principal, workspaceId, role)
  return role !== "viewer"
    ? readable
    : Effect.zipRight(
        readable,
        new ReinsError({
          code: "forbidden",
          message: "Your role in this workspace is viewer, which may only read. Ask an owner for another role.",
          details: { role, workspace_id: workspaceId }
        })
      )
}

const includes: Record<Scope, ReadonlyArray<Scope>> = {
  read: ["read"],
  write: ["write", "read"],
  admin: ["admin", "write", "read"]
}

const covers = (scopes: ReadonlyArray<Scope>, wanted: Scope): boolean =>
  scopes.some((scope) => includes[scope].includes(wanted))

/** The principal as the events name it. */
export const actorOf = (principal: Principal): Actor =>
  principal.via.kind === "api_key"
    ? { kind: "api_key", id: principal.via.keyId }
    : { kind: "account", id: principal.accountId }

export const systemActor = (id: string): Actor => ({ kind: "system", id })
