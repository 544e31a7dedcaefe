import { Reins, type ReinsOptions, type Session } from "@reins/client"
import { reins } from "./ServerProcess.js"

export const password = "correct horse battery staple"

/** An API key with every scope, of an account that is made for it. */
export const newKey = (
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  email = "owner@example.com"
): string => {
  reins(dataDir, ["accounts", "create", "--email", email], { REINS_PASSWORD: password, ...env })
  const made = reins(dataDir, ["keys", "create", "--email", email, "--name", "test"], env)
  const key = /rk_[0-9A-Za-z]{49}/.exec(made.stdout)?.[0]
  if (key === undefined) throw new Error(`There is no key:\n${made.stderr}`)
  return key
}

/** Both real agents, with the kind of connection that each takes. */
export const agents = [
  { provider_id: "alpha", kind: "alpha_gateway" },
  { provider_id: "beta", kind: "beta" }
] as const

/** An address without a listener, for callers that need no model. */
const nowhere = { url: "http://127.0.0.1:9/v1" }

/** The credential of every caller's connections. */
export const gatewayKey = "gateway-key-canary-51"

/** An account with an API key and, for each provider, a connection to the gateway. */
export interface Caller {
  readonly apiKey: string
  readonly workspaceId: string
  /** The caller's client of a server of the installation. */
  readonly at: (server: { readonly url: string }, options?: Omit<ReinsOptions, "baseUrl" | "apiKey">) => Reins
  /** The id of a new session with the scripted model. */
  readonly newSession: (client: Reins, provider_id?: "alpha" | "beta") => Promise<Session["id"]>
}

export const newCaller = async (
  server: { readonly url: string },
  dataDir: string,
  gateway: { readonly url: string } = nowhere,
  env: Readonly<Record<string, string>> = {}
): Promise<Caller> => {
  const apiKey = newKey(dataDir, env)
  const at: Caller["at"] = ({ url }, options = {}) => new Reins({ ...options, baseUrl: url, apiKey })
  const client = at(server)
  const workspaceId = (await client.accounts.getMe()).workspaces[0]?.id ?? ""
  for (const { kind } of agents) {
    const credential = { base_url: gateway.url, api_key: gatewayKey }
    await client.connections.create({ workspace_id: workspaceId, kind, label: kind, credential })
  }
  const newSession: Caller["newSession"] = async (own, provider_id = "alpha") => {
    const harness = { provider_id, model: "scripted-1" }
    return (await own.sessions.create({ workspace_id: workspaceId, harness })).id
  }
  return { apiKey, workspaceId, at, newSession }
}
