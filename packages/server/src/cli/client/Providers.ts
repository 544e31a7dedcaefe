import { CommandFailed } from "../CommandFailed.js"

/**
 * The provider of this name; without a name the first that can be chosen, which is the default of the server. Throws `CommandFailed` when there
 * is none.
 */
export const chosenProvider = <P extends { readonly provider_id: string; readonly tier: string }>(
  providers: ReadonlyArray<P>,
  name: string | undefined
): P => {
  const enabled = providers.filter(({ tier }) => tier !== "disabled")
  const found = enabled.find(({ provider_id }) => name === undefined || provider_id === name)
  if (found !== undefined) return found
  const known = enabled.map(({ provider_id }) => provider_id).join(", ")
  throw new CommandFailed({
    message: name === undefined ? "No provider can be chosen." : `There is no provider "${name}". There are: ${known}.`
  })
}
