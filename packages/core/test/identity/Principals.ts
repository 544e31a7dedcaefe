import type { Principal } from "@reins/base/domain/Principal"
import type { Account } from "@reins/core/identity/Account"
import { Accounts } from "@reins/core/identity/Accounts"
import { Effect, Redacted } from "effect"

/** The account with every scope, as a program that embeds the service acts for it. */
export const principalOf = ({ id }: Pick<Account, "id">): Principal => ({
  accountId: id,
  scopes: ["admin"],
  workspaceId: null,
  via: { kind: "embedded" }
})

/** Somebody with an account, who is a member of nothing else. */
export const stranger = Effect.gen(function* () {
  const accounts = yield* Accounts
  const password = Redacted.make("correct horse battery staple")
  return principalOf(yield* accounts.createVerified({ email: "stranger@example.com", password }))
})
