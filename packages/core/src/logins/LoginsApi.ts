import { HttpApiGroup } from "@effect/platform"
import { extension, idPath, optional, post, read, SecretAnswer, withStatus } from "@reins/base/domain/Endpoint"
import { field } from "@reins/base/domain/Field"
import { ConnectionId } from "@reins/base/domain/Ids"
import { Schema } from "effect"
import { ConnectionLogin, LoginReach } from "./ConnectionLogin.js"

const text = (most: number) => Schema.String.pipe(Schema.minLength(1), Schema.maxLength(most))

export const ConnectionLoginInput = Schema.Struct({
  server_url: field(
    optional(text(2000)),
    "The address of the server of tools, as projects name it. Needed unless `connection_id` is given."
  ),
  label: field(optional(text(200)), "A name for people; the host of the server when absent."),
  for: field(
    optional(LoginReach),
    "`person`: the connection is for the turns of the caller alone, at servers of projects whose `login` is `person`. `workspace` when absent."
  ),
  connection_id: field(
    optional(ConnectionId),
    "A connection of the kind `mcp_oauth` that gets the new credential. Without it another connection is made."
  ),
  scopes: field(
    optional(text(2000)),
    "The scopes to ask for, with a space between them; those that the server names when absent."
  ),
  client_id: field(
    optional(Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]{1,2000}$/))),
    "The id of a client that somebody has registered there by hand. It needs the redirect address of this installation."
  ),
  client_secret: field(optional(text(20_000)), "The secret of that client; absent for a public client."),
  client: field(
    optional(Schema.Literal("document", "registration")),
    "The identity to use. When absent it is the client ID document where the server takes it, else a registration. Choose `registration` where the server cannot reach this installation."
  ),
  redirect_uri: field(
    optional(text(2000)),
    "An http address of this machine, as in `http://127.0.0.1:49152/callback`, for a program that catches the answer itself. When absent the page of the installation does."
  )
}).annotations({ identifier: "ConnectionLoginInput", description: "A login to be." })
export type ConnectionLoginInput = typeof ConnectionLoginInput.Type

export const BegunLogin = Schema.Struct({
  login: field(ConnectionLogin, "The login as it is now."),
  authorize_url: field(
    Schema.String,
    "The address to open in the browser of the person. It is a secret of that person until the login ends."
  )
}).annotations({
  identifier: "BegunLogin",
  description: "A login, and the address that the person has to open for it."
})
export type BegunLogin = typeof BegunLogin.Type

export const LoginAnswer = Schema.Struct({
  state: field(text(500), "The parameter `state` of the address that the browser was led to."),
  code: field(optional(text(20_000)), "The parameter `code`; absent where the server has refused."),
  error: field(optional(text(2000)), "The parameter `error`; absent where there is none."),
  iss: field(optional(text(4096)), "The parameter `iss`; absent where there is none.")
}).annotations({
  identifier: "LoginAnswer",
  description: "The answer of the authorization server, as the browser has brought it."
})
export type LoginAnswer = typeof LoginAnswer.Type

const login = idPath("connection_login_id")

export class ConnectionLoginsApi extends HttpApiGroup.make("connectionLogins")
  .add(
    post(
      "create",
      "/api/workspaces/:workspace_id/connection-logins",
      "Begin to log in to a server of tools with a browser",
      "admin"
    )
      .setPath(idPath("workspace_id"))
      .setPayload(ConnectionLoginInput)
      .addSuccess(withStatus(BegunLogin, 201))
      .annotateContext(extension)
      .annotate(SecretAnswer, true)
  )
  .add(
    read("get", "/api/connection-logins/:connection_login_id", "Read a login of the caller")
      .setPath(login)
      .addSuccess(ConnectionLogin)
      .annotateContext(extension)
  )
  .add(
    post(
      "answer",
      "/api/connection-logins/:connection_login_id/answers",
      "Complete a login with what the browser has brought",
      "admin"
    )
      .setPath(login)
      .setPayload(LoginAnswer)
      .addSuccess(ConnectionLogin)
      .annotateContext(extension)
  ) {}
