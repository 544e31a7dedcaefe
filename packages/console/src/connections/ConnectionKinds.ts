/** A part of a credential. */
export interface CredentialField {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly isSecret?: boolean
  readonly isLong?: boolean
  readonly isOptional?: boolean
  readonly choices?: ReadonlyArray<string>
}

const baseUrl: CredentialField = { name: "base_url", label: "Base URL", hint: "As in https://gateway.example/v1" }
const ownHost: CredentialField = {
  name: "base_url",
  label: "Base URL",
  hint: "For a host of your own; empty for the public one.",
  isOptional: true
}
const apiKey: CredentialField = { name: "api_key", label: "API key", isSecret: true }
const token: CredentialField = { name: "token", label: "Token", isSecret: true }
const origin: CredentialField = {
  name: "origin",
  label: "Origin",
  hint: "The host of the repositories, as in https://git.example.com"
}
const protocols = ["openai_chat", "openai_responses", "anthropic_messages"]

/** The kinds of connections that come with Reins, with what each asks for. */
export const connectionKinds: Readonly<
  Record<string, { readonly does: string; readonly fields: ReadonlyArray<CredentialField> }>
> = {
  alpha_gateway: {
    does: "a gateway of models, for alpha",
    fields: [baseUrl, apiKey, { name: "protocol", label: "Protocol", choices: protocols, isOptional: true }]
  },
  beta: {
    does: "an account of models, for beta",
    fields: [ownHost, apiKey, { name: "auth_json", label: "auth.json", isSecret: true, isLong: true, isOptional: true }]
  },
  gateway: {
    does: "a gateway of models, for the other providers",
    fields: [baseUrl, apiKey, { name: "protocol", label: "Protocol", choices: [...protocols, "gemini"] }]
  },
  github: { does: "repositories and pull requests of GitHub", fields: [ownHost, token] },
  github_app: {
    does: "repositories and pull requests of GitHub, by an app",
    fields: [
      ownHost,
      { name: "client_id", label: "Client ID", hint: "As in Iv23liA1b2C3, or the number of the app." },
      {
        name: "installation_id",
        label: "Installation",
        hint: "Its number; empty for the one that has the repository.",
        isOptional: true
      },
      { name: "private_key", label: "Private key", hint: "The text of the .pem file.", isSecret: true, isLong: true }
    ]
  },
  gitlab: { does: "repositories and merge requests of GitLab", fields: [ownHost, token] },
  gitea: { does: "repositories and pull requests of Gitea or Forgejo", fields: [ownHost, token] },
  git: {
    does: "repositories over https",
    fields: [origin, { name: "username", label: "User" }, { name: "password", label: "Password", isSecret: true }]
  },
  git_ssh: {
    does: "repositories over SSH",
    fields: [
      origin,
      { name: "known_hosts", label: "Known hosts", isLong: true },
      { name: "private_key", label: "Private key", isSecret: true, isLong: true }
    ]
  },
  mcp_oauth: {
    does: "tools of an MCP server, by OAuth",
    fields: [
      { name: "server_url", label: "Server URL", hint: "As projects name it: https://mcp.example/mcp" },
      { name: "client_id", label: "Client ID" },
      {
        name: "client_secret",
        label: "Client secret",
        hint: "Empty for a public client.",
        isSecret: true,
        isOptional: true
      },
      {
        name: "refresh_token",
        label: "Refresh token",
        hint: "Empty where the client asks in its own name.",
        isSecret: true,
        isOptional: true
      },
      { name: "scopes", label: "Scopes", hint: "With a space between them.", isOptional: true },
      {
        name: "token_endpoint",
        label: "Token endpoint",
        hint: "Empty where the server tells it.",
        isOptional: true
      }
    ]
  }
}

/** True for a kind that leads to models. */
export const isGateway = (kind: string): boolean =>
  !/^(?:github|github_app|gitlab|gitea|git|git_ssh|mcp_oauth)$/.test(kind)

/** The credential of the fields of a form, without those that were left empty. */
export const credentialOf = (
  fields: ReadonlyArray<CredentialField>,
  given: Readonly<Record<string, string>>
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fields.flatMap(({ name }) => {
      const value = given[name] ?? ""
      return value === "" ? [] : [[name, value]]
    })
  )
