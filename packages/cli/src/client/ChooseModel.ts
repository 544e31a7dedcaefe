import { ReinsApiError } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { some } from "../terminal/Listing.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import type { Remote } from "./Remote.js"

type Asked = Pick<Remote, "reins" | "workspaceId">

/**
 * Does what needs a model. Where the server wants one to be chosen, a person at a terminal chooses it, and `again` goes on with it. Throws
 * `CommandFailed` that names the models where nobody can be asked.
 */
export const withModel = async <A>(
  remote: Asked,
  isQuiet: boolean,
  first: () => Promise<A>,
  again: (provider_id: string, model: string) => Promise<A>
): Promise<A> => {
  try {
    return await first()
  } catch (error) {
    const provider = error instanceof ReinsApiError && error.code === "model_required" && error.details["provider_id"]
    if (typeof provider !== "string") throw error
    const { items } = await modelsOf(remote, provider)
    if (items.length === 0) throw error
    const ids = items.map(({ id }) => id)
    if (isQuiet || !isInteractive()) throw new CommandFailed({ message: `Choose a model with --model: ${some(ids)}.` })
    return again(provider, await ask.oneOf("Which model? Type to search", ids))
  }
}

/** Has a person choose another model of an agent. Throws `CommandFailed` where the gateway lists none. */
export const askModel = async (remote: Asked, provider_id: string): Promise<string> => {
  const { items } = await modelsOf(remote, provider_id)
  if (items.length === 0) throw new CommandFailed({ message: "The gateway lists no models. Name one: /model NAME" })
  return ask.oneOf(
    "Which model? Type to search",
    items.map(({ id }) => id)
  )
}

const modelsOf = ({ reins, workspaceId: workspace_id }: Asked, provider_id: string) =>
  reins.catalog.listModels({ workspace_id, provider_id }).catch(() => ({ items: [] }))
