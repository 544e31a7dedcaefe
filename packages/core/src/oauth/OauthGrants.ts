import { fn } from "@reins/base/base/Traced"
import type { Page, PageRequest } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, type ReinsError } from "@reins/base/domain/ReinsError"
import { Context, Effect, Layer } from "effect"
import { Access, type ScopeMissing, type Unseen } from "../access/Access.js"
import { ApiKeyStore } from "../identity/ApiKeyStore.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import type { OauthGrant } from "./OauthGrant.js"
import { OauthStore } from "./OauthStore.js"

/** The apps that an account has let in. A principal that is bound to a workspace sees those of the workspace only. */
export class OauthGrants extends Context.Tag("@reins/core/oauth/OauthGrants")<
  OauthGrants,
  {
    /** The accesses that count, newest first. Needs the scope `admin`. */
    readonly list: (
      principal: Principal,
      page: PageRequest
    ) => Effect.Effect<Page<OauthGrant>, ScopeMissing | ReinsError<"invalid_cursor">>
    /**
     * Ends an access. Its tokens are refused from the next request on, and queued turns of the app do not begin. Needs the scope `admin`. Fails with
     * `not_found` for an access that the principal does not see or that has ended.
     */
    readonly revoke: (principal: Principal, id: string) => Command<OauthGrant, ScopeMissing | Unseen>
  }
>() {
  static readonly layer = Layer.effect(
    OauthGrants,
    Effect.gen(function* () {
      const access = yield* Access
      const journal = yield* Journal
      const keys = yield* ApiKeyStore
      const store = yield* OauthStore
      return OauthGrants.of({
        list: fn("OauthGrants.list")(function* (principal, page) {
          yield* access.requireScope(principal, "admin")
          return yield* store.list(principal, page)
        }),
        revoke: (principal, id) =>
          journal.command(
            "OauthGrants.revoke",
            { by: principal, about: { type: "oauth_grant", id }, refusable: false },
            Effect.gen(function* () {
              yield* access.requireScope(principal, "admin")
              const grant = yield* store.findOwn(principal, id)
              if (grant === undefined) return yield* notFound()
              yield* keys.revokeApp(grant.key_id)
              yield* store.removeTokensOf(grant.id)
              return grant
            })
          )
      })
    })
  )
}
