import { fn } from "@reins/base/base/Traced"
import type { GitIdentity } from "@reins/base/domain/GitIdentity"
import { isAccount, type Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Vault } from "@reins/base/secrets/Vault"
import { Effect, ParseResult, Schema } from "effect"
import type { Unseen } from "../access/Access.js"
import { AccountStore, gitOf, normaliseEmail, toAccount } from "./AccountStore.js"
import type { Me } from "./AccountsApi.js"
import { csrfTokenOf } from "./LoginSessions.js"
import { ProvedAddresses } from "./ProvedAddresses.js"
import { WorkspaceStore } from "./WorkspaceStore.js"

/** Gives `Accounts.me`. */
export const makeMe = Effect.gen(function* () {
  const store = yield* AccountStore
  const vault = yield* Vault
  const workspaces = yield* WorkspaceStore
  return fn("Accounts.me")(function* (principal: Principal) {
    if (!isAccount(principal)) return yield* notFound()
    const account = yield* store.find(principal.accountId)
    if (account === undefined) return yield* notFound()
    const all = yield* workspaces.allOf(principal.accountId)
    const { via, workspaceId } = principal
    const me: Me = {
      account: toAccount(account),
      workspaces: all.filter(({ id }) => workspaceId === null || id === workspaceId),
      git: gitOf(account),
      auth: { via: via.kind, scopes: principal.scopes, ...(via.kind === "api_key" && { key_id: via.keyId }) },
      ...(via.kind === "login" && { csrf_token: csrfTokenOf(vault, via.loginId) })
    }
    return me
  })
})

/** Gives the inside of `Accounts.updateMe`. The answer to a change is stored for repetitions, so the token of a login is not in it. */
export const makeUpdateMe = (me: (principal: Principal) => Effect.Effect<Me, Unseen>) =>
  Effect.gen(function* () {
    const store = yield* AccountStore
    const proved = yield* ProvedAddresses
    return Effect.fnUntraced(function* (principal: Principal, git: GitIdentity | null | undefined) {
      if (!isAccount(principal)) return yield* notFound()
      if (principal.workspaceId !== null) return yield* boundToWorkspace
      const account = yield* store.find(principal.accountId)
      if (account === undefined) return yield* notFound()
      if (git !== undefined) {
        const address = git === null ? account.email : normaliseEmail(git.email)
        if (address !== account.email && !(yield* proved.has(account.id, address))) {
          return yield* notProved(account.email)
        }
        yield* store.setGit(account.id, git)
      }
      const { csrf_token: _, ...rest } = yield* me(principal)
      const answer: Me = rest
      return answer
    })
  })

const boundToWorkspace = new ReinsError({
  code: "forbidden",
  message:
    "These credentials are good for one workspace only, and the author of commits shows in all of them. Log in, or use a key of the whole account."
})

const notProved = (email: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "git", "email"],
    issue: new ParseResult.Type(
      Schema.String.ast,
      null,
      `Input should be the address of the account, ${email}, or the private one of a forge whose token you have validated`
    ),
    input: null
  })
