import type { AvailableHarness, Harness, HarnessList, Reins } from "@reins/client"
import { option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { didYouMean } from "../terminal/Suggestion.js"

/** The options that choose an agent. */
export const agentOptions = {
  agent: option("agent", "The agent: opencode, codex, claude or another (the default of the server)", {
    value: "name"
  }),
  provider: option("provider", "The same by the id of its provider: alpha, beta", { value: "id" })
}

/** The agent that the options name; undefined for the default of the server. Throws `CommandFailed` when they name two. */
export const wantedAgent = (given: { readonly agent: string | undefined; readonly provider: string | undefined }) => {
  if (given.agent !== undefined && given.provider !== undefined)
    throw new CommandFailed({ message: "--agent and --provider name the same thing. Give one of them." })
  return given.agent ?? given.provider
}

/** A provider as the server or an installation lists it. */
interface Listed extends Named {
  readonly tier: string
}

interface Named {
  readonly provider_id: string
  readonly display_name: string
}

/** The provider with its name for people: `OpenCode (alpha)`. */
export const nameOf = ({ display_name, provider_id }: Pick<Listed, "display_name" | "provider_id">): string =>
  `${display_name} (${provider_id})`

/** A name as it is compared: `Claude Code`, `claude-code` and `claudecode` are one. */
export const plainName = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

/** The provider of this id, or of the agent of this name. */
export const namedProvider = <P extends Named>(providers: ReadonlyArray<P>, name: string): P | undefined =>
  providers.find(({ provider_id }) => provider_id === name) ??
  providers.find(({ display_name }) => plainName(display_name) === plainName(name)) ??
  providers.find(
    ({ display_name }) => plainName(name).length > 3 && plainName(display_name).startsWith(plainName(name))
  )

/**
 * The provider of this id, or of the agent of this name. Without a name the first that can be chosen, which is the default of the server.
 * Throws `CommandFailed` when there is none, and says so of one that is `available` and off.
 */
export const chosenProvider = <P extends Listed>(
  providers: ReadonlyArray<P>,
  name: string | undefined,
  available: ReadonlyArray<Off> = [],
  by: HarnessList["enabled_by"] = "operator"
): P => {
  const enabled = providers.filter(({ tier }) => tier !== "disabled")
  const found = name === undefined ? enabled[0] : namedProvider(enabled, name)
  if (found !== undefined) return found
  if (name === undefined) throw new CommandFailed({ message: "The server offers no agent." })
  const off = namedProvider(available, name)
  const known = enabled.map(nameOf).join(", ")
  if (off !== undefined)
    throw new CommandFailed({
      message: `${off.display_name} is off on this server. ${enabling(off, by)}. There are: ${known}.${offHere(available, off)}`
    })
  const names = [...enabled, ...available].flatMap((each) => [each.display_name.toLowerCase(), each.provider_id])
  const others = offHere(available)
  const [first] = available.filter(canBeEnabled)
  throw new CommandFailed({
    message: `There is no agent "${name}".${didYouMean(name, names)} There are: ${known}.${others}${first === undefined ? "" : ` Turn one on: ${enableWords(first, by)}`}`
  })
}

/** An agent that is off. Some have no package for the system of the server. */
interface Off extends Named {
  readonly installable?: boolean
}

const canBeEnabled = ({ installable = true }: Off): boolean => installable

const offHere = (available: ReadonlyArray<Off>, but?: Off): string => {
  const off = available.filter((each) => each !== but && canBeEnabled(each))
  return off.length === 0 ? "" : ` Off here: ${off.map(nameOf).join(", ")}.`
}

/** The step that turns an agent on. */
const enabling = (agent: Off, by: HarnessList["enabled_by"]): string => {
  if (!canBeEnabled(agent)) return `${agent.display_name} has no package for the system of the server`
  return by === "owners"
    ? `An owner of the workspace turns it on: ${enableWords(agent, by)}`
    : `Its operator turns it on, and then an owner installs it: ${enableWords(agent, by)}`
}

const enableWords = ({ provider_id }: Off, by: HarnessList["enabled_by"]): string =>
  by === "owners"
    ? `\`reins agents enable ${provider_id}\``
    : `\`reins harnesses enable ${provider_id}\`, \`reins agents enable ${provider_id}\``

/**
 * `chosenProvider` of a server. An earlier release does not tell what is off. An agent that is off, and that owners enable, is offered first: `offer`
 * makes it ready, and gives false where it does not.
 */
export const providerOn = async (
  reins: Reins,
  name: string | undefined,
  offer?: (agent: AvailableHarness) => Promise<boolean>
): Promise<Harness> => {
  const { available, enabled_by, items } = await reins.catalog.listHarnesses()
  const enabled = items.filter(({ tier }) => tier !== "disabled")
  const off =
    name === undefined || namedProvider(enabled, name) !== undefined ? undefined : namedProvider(available ?? [], name)
  if (off !== undefined && enabled_by === "owners" && (await offer?.(off)) === true)
    return providerOn(reins, off.provider_id)
  return chosenProvider(items, name, available, enabled_by)
}
