import { fn } from "@reins/base/base/Traced"
import { WorkspaceId } from "@reins/base/domain/Ids"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type Denied, type ScopeMissing } from "../../access/Access.js"
import type { Command } from "../../store/Command.js"
import { Journal } from "../../store/Journal.js"
import type { SigningKey } from "./SigningKey.js"
import { signingKeyStore } from "./SigningKeyStore.js"

type Refused = Denied | ScopeMissing

/** So many keys may a workspace have. */
const maxKeys = 20

/**
 * The keys that sign the commits of a workspace. Each method fails with `forbidden` for anybody but an owner, and with `insufficient_scope` for
 * credentials without `admin`.
 */
export class SigningKeys extends Context.Tag("@reins/core/deliveries/signing/SigningKeys")<
  SigningKeys,
  {
    /** The keys of a workspace, newest first. The first one signs. */
    readonly list: (
      principal: Principal,
      workspaceId: string,
      page: PageRequest
    ) => Effect.Effect<Page<SigningKey>, Refused | ReinsError<"invalid_cursor">>
    /** Makes a key, which signs from now on. Fails with `quota_exhausted` where there are 20. */
    readonly create: (
      principal: Principal,
      workspaceId: string
    ) => Command<SigningKey, Refused | ReinsError<"quota_exhausted">>
    /** Destroys a key and gives what it was. What it has signed can be verified with its public half. */
    readonly remove: (principal: Principal, keyId: string) => Command<SigningKey, Refused>
  }
>() {
  static readonly layer = Layer.effect(
    SigningKeys,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const store = yield* signingKeyStore

      return SigningKeys.of({
        list: fn("SigningKeys.list")(function* (principal, workspaceId, page) {
          yield* access.manage(principal, workspaceId)
          return yield* store.list(workspaceId, page)
        }),
        create: (principal, workspaceId) =>
          journal.command(
            "SigningKeys.create",
            { by: principal, about: { type: "workspace", id: workspaceId } },
            Effect.gen(function* () {
              yield* access.manage(principal, workspaceId)
              if ((yield* store.count(workspaceId)) >= maxKeys) return yield* tooMany
              return yield* store.add(WorkspaceId.make(workspaceId))
            })
          ),
        remove: (principal, keyId) =>
          journal.command(
            "SigningKeys.remove",
            { by: principal, about: { type: "signing_key", id: keyId } },
            Effect.gen(function* () {
              const key = yield* store.find(keyId)
              if (key === undefined) return yield* notFound()
              yield* access.manage(principal, key.workspace_id)
              yield* store.remove(key.id)
              return key
            })
          )
      })
    })
  )
}

const tooMany = new ReinsError({
  code: "quota_exhausted",
  message: `The workspace has ${maxKeys} signing keys. Remove one that forges no longer need.`,
  details: { quota: "signing_keys", used: maxKeys, limit: maxKeys }
})
