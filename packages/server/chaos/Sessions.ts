import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Reins } from "@reins/client"
import SqliteDatabase from "better-sqlite3"
import type { Gateway, Step } from "../../../examples/scripted-gateway/gateway.mjs"
import { agentProcesses, newKey, type ServerProcess } from "./ServerProcess.js"

/** A prompt that tells the scripted gateway what the model does. */
export const script = (text: string, ...steps: ReadonlyArray<Step>): string => `${text} SCRIPT:${JSON.stringify(steps)}`

/** Works until it is ended: a tool has run, and the model never goes on. */
export const endless = (cmd = "echo begun"): string => script("Wait.", { tool: "bash", cmd }, { hang: true })

/** Both real agents, with the kind of connection that each takes. */
export const agents = [
  { provider_id: "alpha", kind: "alpha_gateway" },
  { provider_id: "beta", kind: "beta" }
] as const

export interface Caller {
  readonly apiKey: string
  readonly workspaceId: string
  /** The same caller at another server of the installation. */
  readonly at: (server: ServerProcess) => Reins
}

/** An account with a key and, for each provider, a connection to the gateway. */
export const newCaller = async (
  server: ServerProcess,
  dataDir: string,
  gateway: Gateway,
  env: Readonly<Record<string, string>> = {}
): Promise<Caller> => {
  const apiKey = newKey(dataDir, env)
  const at = ({ url }: ServerProcess) => new Reins({ baseUrl: url, apiKey })
  const client = at(server)
  const workspaceId = (await client.accounts.me()).workspaces[0]?.id ?? ""
  for (const { kind } of agents) {
    await client.connections.create({
      workspace_id: workspaceId,
      kind,
      label: kind,
      credential: { base_url: gateway.url, api_key: "k" }
    })
  }
  return { apiKey, workspaceId, at }
}

/** Looks again and again until it finds something. */
export const eventually = async <A>(look: () => Promise<A | undefined> | A | undefined): Promise<A> => {
  const deadline = Date.now() + 300_000
  while (Date.now() < deadline) {
    const found = await look()
    if (found !== undefined) return found
    await sleep(20)
  }
  throw new Error(`It did not come: ${look}`)
}

/** Reads a session's events until one of the type comes that belongs to the turn. */
export const untilEvent = async (client: Reins, session_id: string, turn_id: string, type: string): Promise<void> => {
  for await (const event of client.sessions.stream({ session_id }))
    if (event.type === type && event.turn_id === turn_id) return
}

/** What has happened to a turn, each with its reason if it has one. */
export const historyOf = async (client: Reins, session_id: string, turn_id: string): Promise<ReadonlyArray<string>> => {
  const { items } = await client.sessions.events({ session_id, limit: 1000 })
  return items.flatMap((event) => {
    if (event.turn_id !== turn_id || !("turn" in event.payload)) return []
    const { turn } = event.payload
    const reason = typeof turn === "object" && turn !== null && "reason" in turn ? turn.reason : null
    return [reason === null ? event.type : `${event.type} ${reason}`]
  })
}

/** The living processes of the agents of one data directory, whose homes lie in it. */
export const agentsIn = (dataDir: string): ReadonlyArray<number> =>
  agentProcesses().filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
      const isZombie = stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")
      return !isZombie && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${dataDir}/`)
    } catch {
      return false
    }
  })

/** The agent's own session that a session goes on with, as JSON, read from the database of the data directory. */
export const nativeSession = (dataDir: string, sessionId: string): string => {
  const db = new SqliteDatabase(join(dataDir, "reins.db"), { readonly: true })
  try {
    return JSON.stringify(db.prepare("select native_session_id from sessions where id = ?").get(sessionId))
  } finally {
    db.close()
  }
}

/** A new session in the caller's workspace. Its connection leads nowhere, so it is for what needs no agent. */
export const newSession = async (reins: Reins): Promise<string> => {
  const { workspaces } = await reins.accounts.me()
  const workspace_id = workspaces[0]?.id ?? ""
  await reins.connections.create({
    workspace_id,
    kind: "alpha_gateway",
    label: "nobody",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
  })
  return (await reins.sessions.create({ workspace_id, title: "chaos" })).id
}
