import type { ErrorCode, ReinsError } from "@reins/base/domain/ReinsError"
import type { Account } from "@reins/core/identity/Account"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { goodPassword, newClient } from "@reins/testing/identity/Identity"
import { Effect } from "effect"

/** A login of an account from an address, with its right password. */
export const loginAs = (account: Account, client = newClient()) =>
  Effect.flatMap(LoginSessions, (logins) => logins.login({ email: account.email, password: goodPassword }, client))

/** The refusal of a login with a wrong password. */
export const failAs = (email: string, client = newClient()) =>
  Effect.flatMap(LoginSessions, (logins) => Effect.flip(logins.login({ email, password: "wrong password" }, client)))

/** All that a client reads of a refusal. */
export const seen = ({
  code,
  message,
  details
}: ReinsError): { readonly code: ErrorCode; readonly message: string; readonly details: unknown } => ({
  code,
  message,
  details
})
