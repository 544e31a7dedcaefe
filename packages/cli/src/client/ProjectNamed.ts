import type { Reins } from "@reins/client"

/** The id of the project with this slug or id; undefined for none. */
export const projectNamed = async (reins: Reins, workspace_id: string, name: string): Promise<string | undefined> => {
  for await (const { id, slug } of reins.projects.list({ workspace_id, limit: 200 }))
    if (slug === name || id === name) return id
  return undefined
}
