import type { Changeset, Reins } from "@reins/client"
import type { EditorMachine } from "./EditorMachine.js"
import { fenced } from "./ToolUpdates.js"

/** The commands of the door itself, which no agent sees. */
const ownCommands = [
  { name: "diff", description: "Show the changes of this session", hint: null },
  { name: "apply", description: "Apply the changes to this folder, with git apply --3way", hint: null },
  { name: "deliver", description: "Push the changes as a branch", hint: "name of the branch" },
  { name: "steer", description: "Tell the agent something while it works", hint: "what it is to know" }
] as const

/** The commands that an editor is offered. Without its machine nothing can be applied to its folder. */
export const offeredCommands = (machine: EditorMachine | undefined): ReadonlyArray<(typeof ownCommands)[number]> =>
  ownCommands.filter(({ name }) => name !== "apply" || machine !== undefined)

export interface OwnCommand {
  readonly name: (typeof ownCommands)[number]["name"]
  readonly rest: string
}

/** The own command that a prompt is; undefined for a message to the agent. */
export const ownCommandOf = (prompt: string): OwnCommand | undefined => {
  const [, word, rest = ""] = /^\/(\w+)(?:\s+([\s\S]*))?$/.exec(prompt.trim()) ?? []
  const name = ownCommands.find((command) => command.name === word)?.name
  return name === undefined ? undefined : { name, rest: rest.trim() }
}

interface Place {
  readonly reins: Reins
  readonly sessionId: string
  readonly folder: string
  readonly machine: EditorMachine | undefined
}

/** Runs an own command, and gives the text that answers it. */
export const runOwnCommand = async (place: Place, { name, rest }: OwnCommand): Promise<string> => {
  const { reins, sessionId } = place
  if (name === "steer") {
    if (rest === "") return "Say what the agent is to know: `/steer use the other file`."
    await reins.messages.send({ session_id: sessionId, content: rest, routing: "steer" })
    return "The agent was told."
  }
  const changeset = await newestChangeset(reins, sessionId)
  if (changeset === undefined) return "The changes could not be captured. Try again when the turn has ended."
  if (changeset.empty) return "The agent changed nothing."
  if (name === "deliver") return delivered(reins, changeset.id, rest)
  const { diff, omitted } = await reins.changesets.getDiff({ changeset_id: changeset.id })
  const missing = omitted.map(({ path }) => `\`${path}\``).join(", ")
  if (name === "diff")
    return fenced(diff, "diff") + (missing === "" ? "" : `\n\nThe diff was cut. Not shown: ${missing}.`)
  if (place.machine === undefined)
    return "Reins cannot write in your folder from here. `/deliver` pushes the changes as a branch."
  if (missing !== "")
    return `The diff is cut, so it cannot be applied here. \`/deliver\` gives all of it. Cut: ${missing}.`
  return place.machine.apply(place.folder, changeset, diff)
}

/** The newest changeset that can be read. A capture makes one where there is none. */
const newestChangeset = async (reins: Reins, session_id: string): Promise<Changeset | undefined> => {
  const [ready] = (await reins.sessions.listChangesets({ session_id, state: "ready", limit: 1 })).items
  if (ready !== undefined) return ready
  const { changeset, operation } = await reins.sessions.capture({ session_id })
  const job = await reins.jobs.wait(operation)
  return job.state === "succeeded" ? reins.changesets.get({ changeset_id: changeset.id }) : undefined
}

const delivered = async (reins: Reins, changeset_id: string, branch: string): Promise<string> => {
  const { delivery, operation } = await reins.changesets.deliver({
    changeset_id,
    ...(branch !== "" && { target_ref: branch })
  })
  await reins.jobs.wait(operation)
  const { reason_message, state, target_ref } = await reins.deliveries.get({ delivery_id: delivery.id })
  return state === "succeeded"
    ? `Pushed as the branch \`${target_ref}\`.`
    : `The delivery is ${state}: ${reason_message ?? "no reason was given."}`
}
