import { HttpApiGroup, HttpApiSchema } from "@effect/platform"
import {
  extension,
  idPath,
  NotReplayed,
  optional,
  patch,
  post,
  read,
  remove,
  SecretAnswer,
  withStatus
} from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { GitIdentity } from "@reins/base/domain/GitIdentity"
import { ApiKeyId, WorkspaceId } from "@reins/base/domain/Ids"
import { Page } from "@reins/base/domain/Page"
import { pageFields } from "@reins/base/domain/Query"
import { Role } from "@reins/base/domain/Role"
import { Scope } from "@reins/base/domain/Scope"
import { GivenTimestamp, Timestamp } from "@reins/base/domain/Timestamp"
import { Schema } from "effect"
import { BudgetInput } from "../budgets/Budget.js"
import { Account, EmailAddress, NewPassword } from "./Account.js"
import { ApiKey, IssuedApiKey } from "./ApiKey.js"

export const RegisterInput = Schema.Struct({
  email: field(EmailAddress, "The address, which is proved by the link of a mail."),
  password: field(NewPassword, "The password."),
  display_name: field(
    optional(Schema.String.pipe(Schema.maxLength(200))),
    "The name that others see, at most 200 characters."
  ),
  setup_code: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(100))),
    "The code that `reins accounts first` prints on the machine of the server. It makes the first account of an installation without a mail, and is good until an account was verified."
  )
}).annotations({ identifier: "RegisterInput", description: "An account to be." })

export const LoginInput = Schema.Struct({
  email: field(Schema.String.pipe(Schema.maxLength(254)), "The address of the account."),
  password: field(Schema.String.pipe(Schema.maxLength(1024)), "The password of the account.")
}).annotations({ identifier: "LoginInput", description: "The proof of an account." })

export const EmailVerificationInput = Schema.Struct({
  email: field(optional(EmailAddress), "The address to send a new link to."),
  token: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
    "The token from the link of the mail. It is good once, for 24 hours."
  )
})
  .pipe(
    Schema.filter((input) => (input.email === undefined) !== (input.token === undefined), {
      message: () => "Give either email or token"
    })
  )
  .annotations({
    identifier: "EmailVerificationInput",
    description: "Give `email` to have a new link sent, or `token` from a mail to verify the address."
  })

export const PasswordChangeInput = Schema.Struct({
  current_password: field(Schema.String.pipe(Schema.maxLength(1024)), "The password that is good now."),
  new_password: field(NewPassword, "The password from now on.")
}).annotations({ identifier: "PasswordChangeInput", description: "The old password and the new one." })

export const PasswordResetInput = Schema.Struct({
  email: field(optional(EmailAddress), "The address to send the link to."),
  token: field(
    optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
    "The token from the link of the mail. It is good once, for an hour."
  ),
  new_password: field(optional(NewPassword), "The password from now on.")
})
  .pipe(
    Schema.filter(
      (input) =>
        (input.email === undefined) !== (input.token === undefined) &&
        (input.token === undefined) === (input.new_password === undefined),
      { message: () => "Give either email, or token and new_password" }
    )
  )
  .annotations({
    identifier: "PasswordResetInput",
    description: "Give `email` to have a link sent, or `token` from that mail with a `new_password`."
  })

export const PasswordChange = Schema.Struct({
  status: field(Schema.Literal("changed"), "Always `changed`."),
  sessions_revoked: field(Schema.Int, "The number of other logins that the change has ended.")
}).annotations({ identifier: "PasswordChange", description: "The password was changed." })

export const Status = Schema.Struct({
  status: field(
    Schema.String,
    "`accepted` when a mail follows if there is such an account; otherwise what was done, as `verified` with a setup code."
  )
}).annotations({ identifier: "Status", description: "A request that tells nothing about the account." })

export const Login = Schema.Struct({
  account: field(Account, "The account that has logged in."),
  csrf_token: field(Schema.String, "Goes into the header `X-CSRF-Token` of every change that is made with the cookie."),
  expires_at: field(Timestamp, "The time at which the login ends however much it is used.")
}).annotations({ identifier: "Login", description: "A new login. Its token is in a cookie." })
export type Login = typeof Login.Type

export const Me = Schema.Struct({
  account: field(Account, "The account that calls, or that owns the key."),
  workspaces: field(
    Schema.Array(
      Schema.Struct({
        id: field(WorkspaceId, "The id of the workspace."),
        name: field(Schema.String, "The name of the workspace."),
        role: field(Role, "The role of the account in it.")
      })
    ),
    "The workspaces that these credentials are good for."
  ),
  git: field(
    Schema.NullOr(GitIdentity),
    "The author of the commits for which the account has asked; null, unless it was set, for the service itself."
  ),
  auth: field(
    Schema.Struct({
      via: field(Schema.Literal("api_key", "login", "embedded"), "The kind of credentials."),
      scopes: field(Schema.Array(Scope), "What the credentials may do."),
      key_id: field(Schema.optionalWith(ApiKeyId, { exact: true }), "The id of the API key. Absent for a login.")
    }),
    "How the caller proved itself."
  ),
  csrf_token: field(
    Schema.optionalWith(Schema.String, { exact: true }),
    "Goes into the header `X-CSRF-Token` of every change that is made with the cookie. Absent for an API key."
  )
}).annotations({ identifier: "Me", description: "The caller." })
export type Me = typeof Me.Type

export const MeInput = Schema.Struct({
  git: field(
    Schema.optionalWith(Schema.NullOr(GitIdentity), { exact: true }),
    "The author of commits. Its address is that of the account, or the private one (`noreply`) of an account at GitHub or GitLab whose token it has posted and validated. Null takes it back, and absent leaves it."
  )
}).annotations({ identifier: "MeInput", description: "The fields of the calling account to change." })
export type MeInput = typeof MeInput.Type

export class AccountsApi extends HttpApiGroup.make("accounts")
  .add(
    post("register", "/api/auth/register", "Register an account", "public")
      .setPayload(RegisterInput)
      .addSuccess(withStatus(Status, 202))
  )
  .add(
    post("login", "/api/auth/login", "Log in", "public")
      .setPayload(LoginInput)
      .addSuccess(Login)
      .annotate(NotReplayed, true)
  )
  .add(
    post("logout", "/api/auth/logout", "Log out", "read")
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(NotReplayed, true)
  )
  .add(
    post("verifyEmail", "/api/auth/email-verifications", "Verify an e-mail address, or ask for a new link", "public")
      .setPayload(EmailVerificationInput)
      .addSuccess(Status)
  )
  .add(
    post("changePassword", "/api/auth/password-changes", "Change the password; ends every other login", "admin")
      .setPayload(PasswordChangeInput)
      .addSuccess(PasswordChange)
  )
  .add(
    post("resetPassword", "/api/auth/password-resets", "Reset a password, or ask for the link to do so", "public")
      .setPayload(PasswordResetInput)
      .addSuccess(Status)
  )
  .add(read("getMe", "/api/me", "The calling account").addSuccess(Me))
  .add(
    patch("updateMe", "/api/me", "Change the author of the commits of the calling account")
      .setPayload(MeInput)
      .addSuccess(Me)
      .annotateContext(extension)
  ) {}

export const ApiKeyInput = Schema.Struct({
  name: field(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)), "A name to recognise the key by."),
  scopes: field(
    optional(Schema.NonEmptyArray(Scope)),
    "What the key may do, at most what the caller may, which is the default."
  ),
  expires_at: field(
    optional(GivenTimestamp),
    "The time from which the key is refused. When absent it is that of the key that calls, and never for any other caller."
  ),
  workspace_id: field(
    optional(WorkspaceId),
    "The only workspace that the key is good for; every one of the account when absent."
  ),
  budget: field(
    optional(BudgetInput),
    "What the model calls of turns may spend that are made with the key, and of those that are delegated by them."
  )
}).annotations({ identifier: "ApiKeyInput", description: "An API key to be." })

export const ApiKeyPatch = Schema.Struct({
  budget: field(
    Schema.optionalWith(Schema.NullOr(BudgetInput), { exact: true }),
    "The limits of what may be spent with the key, in place of those that there are; null for none."
  )
}).annotations({ identifier: "ApiKeyPatch", description: "What is to change. Absent fields stay as they are." })
export type ApiKeyPatch = typeof ApiKeyPatch.Type

export class ApiKeysApi extends HttpApiGroup.make("apiKeys")
  .add(
    read("list", "/api/api-keys", "List the account's API keys", "admin")
      .setUrlParams(Schema.Struct(pageFields))
      .addSuccess(Page("ApiKeyList", ApiKey))
  )
  .add(
    post("create", "/api/api-keys", "Create an API key; its secret is shown this once", "admin")
      .setPayload(ApiKeyInput)
      .addSuccess(withStatus(IssuedApiKey, 201))
      .annotate(SecretAnswer, true)
  )
  .add(
    patch("update", "/api/api-keys/:key_id", "Change the budget of an API key", "admin")
      .setPath(idPath("key_id"))
      .setPayload(ApiKeyPatch)
      .addSuccess(ApiKey)
      .annotateContext(extension)
  )
  .add(
    remove("revoke", "/api/api-keys/:key_id", "Revoke an API key", "admin").setPath(idPath("key_id")).addSuccess(ApiKey)
  ) {}
