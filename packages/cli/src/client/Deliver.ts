import type { Changeset, Delivery, Reins } from "@reins/client"
import { choices } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { writePaged } from "../terminal/Pager.js"
import { progress } from "../terminal/Progress.js"
import { Aborted, ask, isInteractive } from "../terminal/Prompts.js"
import { harmless, hasColors, painter } from "../terminal/Style.js"
import { reasonText } from "./ErrorSentences.js"
import { type Obstacle, obstacles } from "./Words.js"

/** The newest changeset of a session that can be read; a capture makes one where there is none. */
export const newestChangeset = async (reins: Reins, session_id: string): Promise<Changeset> => {
  const [ready] = (await reins.sessions.listChangesets({ session_id, state: "ready", limit: 1 })).items
  if (ready !== undefined) return ready
  const { changeset, operation } = await reins.sessions.capture({ session_id })
  const job = await reins.jobs.wait(operation)
  if (job.state === "succeeded") return reins.changesets.get({ changeset_id: changeset.id })
  throw new CommandFailed({
    message: `The changes could not be captured: ${job.error?.message ?? "no reason was given."}`
  })
}

/** The id of the sealed changeset before one of the same session; undefined for the first. */
export const changesetBefore = async (reins: Reins, { id, session_id }: Changeset): Promise<string | undefined> => {
  for await (const each of reins.sessions.listChangesets({ session_id, state: "ready" }))
    if (each.id < id) return each.id
  return undefined
}

/** The changeset that a turn has made, if it has. */
export const changesetOf = async (
  reins: Reins,
  session_id: string,
  turn_id: string
): Promise<Changeset | undefined> => {
  for await (const each of reins.sessions.listChangesets({ session_id, state: "ready" }))
    if (each.source_turn_id === turn_id) return each
  return undefined
}

/**
 * Writes a diff: with colours and in the pager for a person, else exactly as it is, so that `git apply` takes it. `before` runs ahead of one that is not
 * empty.
 */
export const writeDiff = async (
  reins: Reins,
  changeset: Changeset,
  against?: string,
  before?: () => void
): Promise<void> => {
  const { diff, omitted } = await reins.changesets.getDiff({
    changeset_id: changeset.id,
    ...(against !== undefined && { against })
  })
  if (diff !== "") before?.()
  await writePaged(process.stdout.isTTY ? shown(diff) : diff)
  if (omitted.length === 0) return
  tell("The diff is longer than the server shows, so it was cut. `reins sessions deliver` gives all of it. Not shown:")
  for (const { additions, deletions, path } of omitted.slice(0, namedAtMost))
    tell(harmless(`  ${path}: ${additions} added and ${deletions} deleted lines`))
  if (omitted.length > namedAtMost) tell(`  and ${omitted.length - namedAtMost} more files`)
}

/** More files than this are counted and not named. */
const namedAtMost = 20

/** Says on the standard error what a changeset does not hold. */
export const tellDiagnostics = ({ diagnostics }: Changeset): void => {
  const paint = painter(process.stderr)
  for (const sentence of diagnostics) tell(paint("yellow", harmless(sentence)))
}

const shown = (diff: string): string => {
  if (!hasColors(process.stdout)) return harmless(diff)
  const paint = painter(process.stdout)
  return harmless(diff)
    .split("\n")
    .map((line) => {
      if (/^(?:\+\+\+|---|diff |index )/.test(line)) return paint("bold", line)
      if (line.startsWith("+")) return paint("green", line)
      if (line.startsWith("-")) return paint("red", line)
      return line.startsWith("@@") ? paint("cyan", line) : line
    })
    .join("\n")
}

const isObstacle = (name: string | null): name is Obstacle => obstacles.some((each) => each === name)

/** The flag `--allow`, which may be given more than once. */
export const allowOption = choices("allow", obstacles, "Allow these")

export interface DeliverOptions {
  readonly branch?: string | undefined
  readonly title?: string | undefined
  readonly transport?: "patch" | "git_branch" | undefined
  readonly onto?: Delivery["onto"] | undefined
  readonly author?: "requester" | "service" | undefined
  readonly allow?: ReadonlyArray<Obstacle> | undefined
  /** The connection that pushes; one of the project when absent. */
  readonly connection?: string | undefined
}

/** Delivers a changeset and waits for the end of it. A person is asked whether to deliver in spite of each obstacle. */
export const deliver = async (reins: Reins, changeset: Changeset, options: DeliverOptions): Promise<Delivery> => {
  let delivery = await deliverOnce(reins, changeset, options)
  while (delivery.state === "blocked" && isObstacle(delivery.reason) && (await isWantedAnyway(delivery))) {
    const { allow, reason, target_ref: branch, transport } = delivery
    delivery = await deliverOnce(reins, changeset, { ...options, branch, transport, allow: [...allow, reason] })
  }
  return delivery
}

const isWantedAnyway = async (delivery: Delivery): Promise<boolean> => {
  if (!isInteractive()) return false
  tell(harmless(delivery.reason_message ?? ""))
  try {
    return await ask.confirmation("Deliver anyway?", false)
  } catch (error) {
    if (!(error instanceof Aborted)) throw error
    return false
  }
}

const deliverOnce = async (
  reins: Reins,
  { id: changeset_id }: Changeset,
  { allow, author, branch, connection, onto, title, transport }: DeliverOptions
): Promise<Delivery> => {
  const busy = progress()
  try {
    busy.say("Delivering")
    const { delivery, operation } = await reins.changesets.deliver({
      changeset_id,
      ...(branch !== undefined && { target_ref: branch }),
      ...(connection !== undefined && { connection_id: connection }),
      ...(title !== undefined && { title }),
      ...(transport !== undefined && { transport }),
      ...(onto !== undefined && { onto }),
      ...(author !== undefined && { author }),
      ...(allow !== undefined && allow.length > 0 && { allow: [...allow] })
    })
    await reins.jobs.wait(operation)
    return await reins.deliveries.get({ delivery_id: delivery.id })
  } finally {
    busy.clear()
  }
}

/** Says on the standard error what became of a delivery. */
export const tellDelivery = (delivery: Delivery): void => {
  const paint = painter(process.stderr)
  const { reason, reason_message, remote_url, state, target_ref, transport } = delivery
  const why = reasonText({ reason, reason_message })
  if (state !== "succeeded") tell(paint("red", `The delivery is ${state}: ${why}`))
  else if (transport === "patch") tell(paint("green", "Delivered as a patch."))
  else if (delivery.onto === "head")
    tell(paint("green", `Delivered on top of the branch ${target_ref} of ${remote_url ?? "the remote"}.`))
  else tell(paint("green", `Delivered as the branch ${target_ref} of ${remote_url ?? "the remote"}.`))
}
