import { signal } from "@preact/signals"
import type { Message } from "@reins/client"
import { me, reins } from "../api/Server.js"

/** The names of the members of a workspace by their accounts, where they were asked for. */
const names = signal<ReadonlyMap<string, string>>(new Map())
const asked = new Set<string>()

/** Asks once for the members of a workspace. A refusal leaves their names unknown. */
const askMembers = async (workspace_id: string): Promise<void> => {
  if (asked.has(workspace_id)) return
  asked.add(workspace_id)
  try {
    const known = new Map(names.peek())
    for await (const { account_id, display_name, email } of reins.workspaces.listMembers({ workspace_id, limit: 100 }))
      if (account_id !== null) known.set(account_id, display_name ?? email)
    names.value = known
  } catch {
    // Their messages are those of other people then.
  }
}

const speakers: Readonly<Record<string, string>> = { api_key: "API key", harness: "Agent", system: "Reins" }

/** The name of an author. An account that is not known yet, or may not be seen, is some other person. */
export const authorName = ({ id, kind }: Message["author"], workspaceId: string | undefined): string => {
  if (kind !== "account") return speakers[kind] ?? kind
  if (id === me.value?.account.id) return "You"
  const name = names.value.get(id)
  if (name === undefined && workspaceId !== undefined) void askMembers(workspaceId)
  return name ?? "Another person"
}
