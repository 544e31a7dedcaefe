import { HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { Account, EmailAddress, NewPassword, Role } from "../domain/Account.js"
import { ApiKey, IssuedApiKey, Scope } from "../domain/ApiKey.js"
import { ApiKeyId, WorkspaceId } from "../domain/Ids.js"
import { Page } from "../domain/Page.js"
import { Timestamp } from "../domain/Timestamp.js"
import { idPath, NotReplayed, optional, post, read, remove, SecretAnswer, withStatus } from "./Endpoint.js"
import { pageFields } from "./Query.js"

export const RegisterInput = Schema.Struct({
  email: EmailAddress,
  password: NewPassword,
  display_name: optional(Schema.String.pipe(Schema.maxLength(200)))
}).annotations({ identifier: "RegisterInput" })

export const LoginInput = Schema.Struct({
  email: Schema.String.pipe(Schema.maxLength(254)),
  password: Schema.String.pipe(Schema.maxLength(1024))
}).annotations({ identifier: "LoginInput" })

/** Give `email` to have a new link sent, or `token` from a mail to verify the address. */
export const EmailVerificationInput = Schema.Struct({
  email: optional(EmailAddress),
  token: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)))
})
  .pipe(
    Schema.filter((input) => (input.email === undefined) !== (input.token === undefined), {
      message: () => "Give either email or token"
    })
  )
  .annotations({ identifier: "EmailVerificationInput" })

export const PasswordChangeInput = Schema.Struct({
  current_password: Schema.String.pipe(Schema.maxLength(1024)),
  new_password: NewPassword
}).annotations({ identifier: "PasswordChangeInput" })

/** Give `email` to have a link sent, or `token` from that mail with a `new_password`. */
export const PasswordResetInput = Schema.Struct({
  email: optional(EmailAddress),
  token: optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))),
  new_password: optional(NewPassword)
})
  .pipe(
    Schema.filter(
      (input) =>
        (input.email === undefined) !== (input.token === undefined) &&
        (input.token === undefined) === (input.new_password === undefined),
      { message: () => "Give either email, or token and new_password" }
    )
  )
  .annotations({ identifier: "PasswordResetInput" })

export const PasswordChange = Schema.Struct({
  status: Schema.Literal("changed"),
  /** The number of other logins that the change has ended. */
  sessions_revoked: Schema.Int
}).annotations({ identifier: "PasswordChange" })

export const Status = Schema.Struct({ status: Schema.String }).annotations({ identifier: "Status" })

export const Login = Schema.Struct({
  account: Account,
  csrf_token: Schema.String,
  expires_at: Timestamp
}).annotations({ identifier: "Login" })
export type Login = typeof Login.Type

export const Me = Schema.Struct({
  account: Account,
  workspaces: Schema.Array(Schema.Struct({ id: WorkspaceId, name: Schema.String, role: Role })),
  auth: Schema.Struct({
    via: Schema.Literal("api_key", "login", "embedded"),
    scopes: Schema.Array(Scope),
    key_id: Schema.optionalWith(ApiKeyId, { exact: true })
  }),
  csrf_token: Schema.optionalWith(Schema.String, { exact: true })
}).annotations({ identifier: "Me" })
export type Me = typeof Me.Type

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
  .add(read("getMe", "/api/me", "The calling account").addSuccess(Me)) {}

export const ApiKeyInput = Schema.Struct({
  name: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200)),
  scopes: optional(Schema.NonEmptyArray(Scope)),
  expires_at: optional(Timestamp),
  workspace_id: optional(WorkspaceId)
}).annotations({ identifier: "ApiKeyInput" })

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
    remove("revoke", "/api/api-keys/:key_id", "Revoke an API key", "admin").setPath(idPath("key_id")).addSuccess(ApiKey)
  ) {}
