import type { AvailableHarness, Harness, OperationRef, Reins } from "@reins/client"
import { argument, entry, flag, group, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { installProgress } from "../terminal/InstallProgress.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { harmless } from "../terminal/Style.js"
import { table } from "../terminal/Table.js"
import { namedProvider, nameOf } from "./Providers.js"
import { type Remote, remoteCommand, workspaceOption } from "./Remote.js"

const json = flag("json", "Lines of JSON in the place of text")

const list = remoteCommand({
  takes: { json },
  examples: [
    ["reins agents list", "The agents of your server, and those that are off"],
    ["reins agents list --json", "The same for a program"]
  ],
  run: async ({ json }, connect) => {
    const { reins } = await connect()
    // An earlier release does not tell what is off.
    const { available = [], items } = await reins.catalog.listHarnesses()
    if (json) return [...items, ...available].forEach(printJsonNow)
    const rows = items
      .filter(({ tier }) => tier !== "disabled")
      .map((each) => [each.provider_id, harmless(each.display_name), each.version ?? "-", stateOf(each), asks(each)])
    const off = available.map((each) => [
      each.provider_id,
      harmless(each.display_name),
      each.version ?? "-",
      each.installable ? "off" : "not for here",
      "-"
    ])
    process.stdout.write(table([["AGENT", "NAME", "VERSION", "STATE", "ASKS FIRST"], ...rows, ...off]))
  }
})

const stateOf = ({ installable, installed, installing }: Harness): string => {
  if (installing !== null) return "being installed"
  return installed ? "ready" : installable ? "not installed" : "not for here"
}

/** `yes` alone is proven. */
const asks = ({ capabilities }: Harness): string =>
  capabilities["interactive_approval"] === "supported" ? "yes" : "no"

const enable = remoteCommand({
  takes: {
    agent: argument("agent", "The agent, by its name or the id of its provider"),
    license: option("accept-license", "The licence of an agent that is not open", { value: "text" }),
    workspace: workspaceOption
  },
  details:
    "Enables it for everybody on the server, where its operator leaves that to owners. Needs a key with the scope admin.",
  examples: [
    ["reins agents enable claude", "Offer Claude Code, and install it"],
    ["reins agents list", "See which agents are ready"]
  ],
  run: async ({ agent, license, workspace }, connect) => {
    const { reins, workspaceId } = await connect(workspace)
    const { available = [], items } = await reins.catalog.listHarnesses()
    const known = [...items.filter(({ tier }) => tier !== "disabled"), ...available]
    const found = namedProvider(known, agent)
    if (found === undefined)
      throw new CommandFailed({ message: `There is no agent "${agent}". There are: ${known.map(nameOf).join(", ")}.` })
    if ("installed" in found && found.installed) return tell(`${nameOf(found)} is ready.`)
    await makeReady({ reins, workspaceId }, found, license)
  }
})

/** Asks a person whether an agent that is off or not installed may be made ready, and does it. False for one who says no. */
export const offerAgent = async (remote: Remote, agent: Unready): Promise<boolean> => {
  const question =
    "installed" in agent
      ? `${nameOf(agent)} is not installed on the server. Install it?`
      : `${nameOf(agent)} is off on this server. Turn it on for everybody, and install it?`
  if (!(await ask.confirmation(question, true))) return false
  await makeReady(remote, agent, undefined)
  return true
}

/** An agent that is not installed, or one that is off. */
type Unready = Harness | AvailableHarness

const makeReady = async (
  { reins, workspaceId }: Pick<Remote, "reins" | "workspaceId">,
  agent: Unready,
  license: string | undefined
): Promise<void> => {
  const off = "installed" in agent ? undefined : agent
  const accepted = off?.license_asked === true ? await accept(off, license) : undefined
  const { operation } = await reins.catalog.installHarness({
    workspace_id: workspaceId,
    provider_id: agent.provider_id,
    ...(off !== undefined && { enable: true }),
    ...(accepted !== undefined && { accept_license: accepted })
  })
  await untilInstalled(reins, agent.provider_id, operation)
  tell(`${nameOf(agent)} is ready.`)
}

/** Asks for the licence of an agent, where no option has accepted it. */
const accept = async ({ display_name, license }: AvailableHarness, given: string | undefined): Promise<string> => {
  if (license === null || given === license) return license ?? ""
  const what = `The licence of ${display_name} is: ${license}.`
  if (given !== undefined || !isInteractive())
    throw new CommandFailed({
      message: `${what} If you have read it and may use the agent, add: --accept-license "${license}"`
    })
  if (!(await ask.confirmation(`${what} Have you read it, and may you use the agent?`, false)))
    throw new CommandFailed({ message: "Nothing was enabled." })
  return license
}

/** Shows how far the installation is until it has ended. A look that fails shows nothing, and the installation goes on. */
const untilInstalled = async (reins: Reins, provider_id: string, operation: OperationRef): Promise<void> => {
  const { clear, show } = installProgress()
  const look = async () => {
    const { items } = await reins.catalog.listHarnesses()
    const now = items.find((each) => each.provider_id === provider_id)?.installing
    if (now != null) show(now)
  }
  const looking = setInterval(() => void look().catch(() => undefined), lookMs)
  const job = await reins.jobs.wait(operation).finally(() => {
    clearInterval(looking)
    clear()
  })
  if (job.state !== "succeeded")
    throw new CommandFailed({ message: job.error?.message ?? `The installation has ended as ${job.state}.` })
}

/** The time between two looks at an installation, in milliseconds. */
const lookMs = 700

/** `reins agents` */
export const agents = group(
  entry("list", "List the agents of the server, and those that are off", list),
  entry("enable", "Turn an agent on, and install it", enable)
)
