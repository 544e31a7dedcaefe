import { Fault } from "../api/Failure.js"
import { reins } from "../api/Server.js"

const sentences: Readonly<Record<string, { readonly field: string; readonly text: string }>> = {
  not_found: { field: "repository", text: "There is no public repository at this address. Check it." },
  auth_required: {
    field: "repository",
    text: "There is no public repository at this address. A private one needs a project with a connection to it."
  },
  ref_not_found: { field: "base_ref", text: "The repository has no such branch, tag or commit." },
  refused: { field: "repository", text: "This server contacts no such address. Its operator can allow it." }
}

/** Asks the repository before a session is made of it. A remote that gives no answer stops nobody. */
export const askRepository = async (workspace_id: string, url: string, ref: string | undefined): Promise<void> => {
  const { state } = await reins.workspaces.getRepository({ workspace_id, url, ...(ref !== undefined && { ref }) })
  const fault = sentences[state]
  if (fault !== undefined) throw new Fault(fault.field, fault.text)
}
