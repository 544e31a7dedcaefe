import type { Reins } from "@reins/client"

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
