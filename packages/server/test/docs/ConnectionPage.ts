import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { ConnectionKind } from "@reins/core/connections/ConnectionKind"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, Layer } from "effect"
import { made, table } from "./Markdown.js"
import { fieldsOf } from "./SchemaText.js"

/** The purpose of a kind, and a credential of it. */
const texts: Readonly<
  Record<
    string,
    {
      readonly does: string
      readonly example: Readonly<Record<string, string>>
      readonly runs?: string
      readonly more?: string
      /** Says why the example is none that the schema takes. */
      readonly left?: string
    }
  >
> = {
  alpha_gateway: {
    does: "The gateway of models that sessions of the provider `alpha` use: any that speaks one of three protocols. `base_url` has its `/v1`.",
    example: { base_url: "https://gateway.example/v1", api_key: "sk-your-key", protocol: "openai_chat" }
  },
  beta: {
    does: "The key that sessions of the provider `beta` use: of its own gateway, or of another that speaks `openai_responses`. The login of a subscription is refused.",
    example: { api_key: "sk-your-key" }
  },
  gateway: {
    does: "A gateway of models in any of four protocols, for the optional providers and for those that you add. A session of a provider takes one whose protocol its agent speaks.",
    example: {
      base_url: "https://generativelanguage.googleapis.com/v1beta",
      api_key: "your-key",
      protocol: "gemini"
    },
    runs: "The [optional providers](providers.md) run with it."
  },
  github: {
    does: "GitHub and GitHub Enterprise: clones, pushes and pull requests.",
    example: { token: "github_pat_your-token" }
  },
  gitlab: {
    does: "GitLab, of gitlab.com or your own: clones, pushes and merge requests.",
    example: { base_url: "https://gitlab.example.com", token: "glpat-your-token" }
  },
  gitea: {
    does: "Gitea and what speaks its API: clones, pushes and pull requests.",
    example: { base_url: "https://gitea.example.com", token: "your-token" }
  },
  github_app: {
    does: "An app of GitHub or GitHub Enterprise: clones, pushes and pull requests in the name of the app, which belongs to no person.",
    example: {
      client_id: "Iv23liYourApp",
      private_key: "-----BEGIN RSA PRIVATE KEY-----\n..."
    },
    left: "it needs the key of an app of the reader",
    more: `Make the app in the settings of your organization, under _Developer settings_ and _GitHub Apps_. Give it these permissions for repositories: _Contents_ and
_Pull requests_ with read and write, _Checks_ and _Commit statuses_ with read. Re-runs need _Actions_ with read and write. Install it on the repositories,
and generate a private key.

Reins makes a token from the key when it needs one. GitHub takes such a token for one hour and one repository, with the permissions above and no other. Reins
keeps a token of the API in its memory until 10 minutes before its end. It makes a new one for each clone and push. A token is never stored, logged or given
to an agent. When GitHub refuses a token, Reins makes another one, once. When the clock of the server is off, Reins takes the time of GitHub's answer.

The app has one webhook for all of its repositories. Put the address and the secret of a [hook](hooks.md) of the kind \`github\` there to have merge requests
looked at at once. Reins reads them at intervals in any case.`
  },
  git: {
    does: "A name and a password for git, for the repositories of one origin: clones and pushes, but no merge requests.",
    example: { origin: "https://git.example.com", username: "you", password: "your-password" }
  },
  git_ssh: {
    does: "A key for git through SSH, for the repositories of one host, where the operator allows SSH (`REINS_ALLOW_SSH_REPOSITORIES`): clones and pushes, but no merge requests. ssh is given that key and those known hosts alone, never a key, an agent or a configuration of the server's user.",
    example: {
      origin: "ssh://git.example.com",
      known_hosts: "git.example.com ssh-ed25519 AAAA...",
      private_key: "-----BEGIN OPENSSH PRIVATE KEY-----..."
    }
  },
  mcp_oauth: {
    does: "OAuth with a server of tools: a project version names it as the `connection_id` of a server. [tools.md](tools.md#a-server-with-oauth) has the rules.",
    example: {
      server_url: "https://mcp.example/mcp",
      client_id: "reins",
      client_secret: "your-secret",
      refresh_token: "your-refresh-token"
    },
    runs: "Servers of tools are asked with it."
  }
}

const services = ConnectionKinds.layer.pipe(
  Layer.provideMerge(Layer.merge(Forges.layer, Manifests.layer)),
  Layer.provide(Outbound.layer),
  Layer.provide(CoreConfig.layer({ dataDir: "/nowhere" }))
)

/** Every kind of connection of an installation. */
export const kinds = Effect.provide(ConnectionKinds, services)

const section = (kind: ConnectionKind, provider: string | undefined): string => {
  const text = texts[kind.kind]
  if (text === undefined) throw new Error(`There is no text for connections of the kind ${kind.kind}`)
  const { schema } = kind.credential
  if (schema === undefined) throw new Error(`The credential of ${kind.kind} has no schema that names its fields`)
  const fields = fieldsOf(schema)
  const isDescribed = fields.some(({ description }) => description !== undefined)
  const rows = fields.map(({ description, isOptional, name, type }) => [
    `\`${name}\``,
    type,
    isOptional ? "no" : "yes",
    kind.settings.has(name) ? "in `settings`" : "never",
    ...(isDescribed ? [description ?? ""] : [])
  ])
  const head = ["Field of the credential", "Type", "Required", "Read again", ...(isDescribed ? ["What it is"] : [])]
  return `## ${kind.kind}

${text.does}

${table(head, rows)}
<!-- ${text.left === undefined ? `schema: credential of ${kind.kind}` : `not run: ${text.left}`} -->
\`\`\`json
${JSON.stringify(text.example, null, 2)}
\`\`\`

${text.more === undefined ? "" : `${text.more}\n\n`}${text.runs ?? (provider === undefined ? "No provider runs with it." : `The provider \`${provider}\` runs with it.`)} ${kind.forGit ? "git may use it." : "git never uses it."} A validation can observe: ${kind.capabilities.map((name) => `\`${name}\``).join(", ")}.
`
}

/** docs/connections.md */
export const connections = Effect.map(
  kinds,
  ({ list, providerOf }) => `# Connections

${made("the kinds of connection in packages/core/src/connections and packages/machine/src/forge")}A connection is a credential of a workspace. Its secret fields are sealed before they are stored, and never come out again. The others can be read as
its \`settings\`. There are ${list.length} kinds.

| To do | Request |
| --- | --- |
| make one | \`POST /api/workspaces/{workspace_id}/connections\` with \`kind\`, \`label\` and \`credential\` |
| try it | \`POST /api/connections/{connection_id}/validations\`; the newest of \`GET .../validations\` says \`passed\`, \`failed\` or \`inconclusive\`, with a reason |
| see what it can do | \`GET /api/connections/{connection_id}/capabilities\` |
| replace its credential | \`POST /api/connections/{connection_id}/credential-versions\` with a \`credential\`; turns that begin then use it |
| say what its models cost | \`PATCH /api/connections/{connection_id}\` with \`prices\`, as in [concepts.md](concepts.md#usage-and-prices) |
| rename, disable or enable it | \`PATCH /api/connections/{connection_id}\` with \`label\` or \`state\` |
| end it | \`DELETE /api/connections/{connection_id}\`, which destroys its credentials |

A session takes the connection that its creation names. Otherwise it takes the first of its project that fits its provider, then the newest of the
workspace that does. \`health\` is \`unverified\`, \`verifying\`, \`ready\`, \`degraded\` or \`reauth_required\`, as the last validation, turn or merge
request has found it. [deliveries.md](deliveries.md) walks from a connection to a merge.

## The connection of a repository

A credential for git has a home: the forge of a token, or the \`origin\` of another credential. Reins sends it to repositories with the same protocol, host and
port, and nowhere else. A connection of the kind \`git\` that an older server made has no \`origin\`. Reins sends it nowhere until you give its credential
again with one.

Clones and pushes of a session use the first of these:

1. The connection that \`repository.connection_id\` of the new session names. With null Reins asks without a credential.
2. The first connection of the project version whose home the repository is at.
3. The best active connection of the workspace whose home the repository is at.

Reins chooses the best one in this order:

1. An app that may be installed on the owner of the repository.
2. The connection that has opened this repository last.
3. The newest connection.

A connection comes last when its \`health\` is \`reauth_required\`, or when the repository has refused its present credential. A file path takes no connection.
\`base.connection_id\` of the session tells which connection it has.

- **Several may fit.** Before the first clone Reins asks the repository with up to three of them, and the session keeps the one that opens it.
- **None may fit.** The turn then fails with \`auth_required\` and names the host. Make a connection for that host, and retry the turn.
- **A public repository needs none.** git asks without a credential first, and sends one only when the host asks for it. So a refused token stops no public clone.
  An app that is not installed there is passed over.
- **A named connection is not replaced.** When its credential is refused, the turn fails and no other credential is sent.
- **A merge request** takes the first of them that leads to a forge. A delivery may name another connection, under the same rule.

\`GET /api/workspaces/{workspace_id}/repository\` asks a repository before a session starts from it, with the same choice. \`connection_id\` asks with another
connection, and \`anonymous=true\` with none. When a credential is missing, the answer has the \`host\`, the \`forge\` where that is known, and the \`ways\` to open it.
The console and the command line then ask for a token in place. They keep only one that opens the repository.

A credential is refused with 422 when a field is missing or malformed. It is sealed for its workspace, connection, kind and settings together, so that
no change of a row in the database leads it elsewhere. A \`base_url\` that is not https on a public address is not asked, and its validation says
\`address_refused\`. The operator can allow the host with \`REINS_ALLOW_PRIVATE_HOSTS\`.

${list.map((kind) => section(kind, providerOf(kind.kind)?.provider_id)).join("\n")}`
)
