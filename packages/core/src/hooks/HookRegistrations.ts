import type { Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { now } from "@reins/base/domain/Timestamp"
import { hookOccasions } from "@reins/machine/forge/Forge"
import { Forges } from "@reins/machine/forge/Forges"
import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { Access } from "../access/Access.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { Hook } from "./Hook.js"
import { type HookRow, HookStore, registrationOf } from "./HookStore.js"
import type { HookDenied } from "./Hooks.js"
import type { HookRegistrationInput } from "./HooksApi.js"
import { makeRegistering } from "./Registering.js"

/** The hooks that Reins makes on forges with the token of a connection. A job does it; the hook tells how it went. */
export class HookRegistrations extends Context.Tag("@reins/core/hooks/HookRegistrations")<
  HookRegistrations,
  {
    /**
     * Has the forge make the hook, or change the one there that calls the same address. Fails with `invalid_transition` for a hook that another repository
     * has. Fails with `RequestInvalid` for a connection of another kind, or a repository that is not on its forge.
     */
    readonly register: (
      principal: Principal,
      hookId: string,
      input: HookRegistrationInput
    ) => Command<Hook, HookDenied | ReinsError<"invalid_transition"> | RequestInvalid>
    /** Has the forge forget the hook, which stays. Fails with `invalid_transition` for one that was not registered. */
    readonly unregister: (
      principal: Principal,
      hookId: string
    ) => Command<Hook, HookDenied | ReinsError<"invalid_transition">>
  }
>() {
  static readonly layer = Layer.effect(
    HookRegistrations,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* HookStore
      const registering = yield* makeRegistering
      const checkPlace = yield* makeCheckPlace

      const locked = Effect.fnUntraced(function* (principal: Principal, id: string) {
        const row = yield* store.lock(id)
        yield* access.manage(principal, row.workspace_id)
        return row
      })
      const write = Effect.fnUntraced(function* (row: HookRow, columns: Pick<HookRow, "registration">) {
        const changes = { ...columns, updated_at: yield* now }
        yield* store.update(row.id, changes)
        return yield* store.toHook({ ...row, ...changes })
      })

      return HookRegistrations.of({
        register: (principal, hookId, { connection_id, occasions = hookOccasions, repository }) =>
          journal.command(
            "HookRegistrations.register",
            { by: principal, about: { type: "hook", id: hookId } },
            Effect.gen(function* () {
              const row = yield* locked(principal, hookId)
              yield* checkPlace(row, { connection_id, repository })
              const before = registrationOf(row)
              const isElsewhere = before !== null && before.repository !== repository && before.state !== "failed"
              if (isElsewhere || before?.state === "removing") return yield* elsewhere
              const wanted = { connection_id, repository, occasions, state: "pending" as const }
              return yield* write(row, yield* registering.change(row, wanted))
            })
          ),
        unregister: (principal, hookId) =>
          journal.command(
            "HookRegistrations.unregister",
            { by: principal, about: { type: "hook", id: hookId } },
            Effect.gen(function* () {
              const row = yield* locked(principal, hookId)
              const before = registrationOf(row)
              if (before === null) return yield* notRegistered
              return yield* write(row, yield* registering.change(row, { ...before, state: "removing" }))
            })
          )
      })
    })
  )
}

/** Gives the function that checks the connection and the repository of a registration without a call of the network. */
const makeCheckPlace = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const forges = yield* Forges
  return Effect.fnUntraced(function* (
    { kind, workspace_id }: HookRow,
    { connection_id, repository }: Pick<HookRegistrationInput, "connection_id" | "repository">
  ) {
    const connection = yield* connections.find(connection_id)
    if (connection === undefined || connection.workspace_id !== workspace_id || connection.kind !== kind)
      return yield* invalid("connection_id", connection_id, `Choose a connection of the kind ${kind} of this workspace`)
    if (forges.pathOf({ kind, settings: JSON.parse(connection.settings) }, repository) === undefined)
      return yield* invalid("repository", repository, "The repository is not on the forge of the connection")
  })
})

const invalid = (name: string, input: string, words: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", name],
    issue: new ParseResult.Type(Schema.Unknown.ast, input, words),
    input
  })

const elsewhere = new ReinsError({
  code: "invalid_transition",
  message:
    "The hook is registered for another repository, or the forge is being asked to forget it. Remove the registration first, and wait for its end.",
  details: { resource: "hook" }
})

const notRegistered = new ReinsError({
  code: "invalid_transition",
  message: "Reins has not made this hook on a forge. Remove it in the settings of the repository.",
  details: { resource: "hook" }
})
