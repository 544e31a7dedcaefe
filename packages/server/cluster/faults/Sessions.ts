import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Reins } from "@reins/client"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import type { Node, Rig } from "./Rig.js"

/** A session of the rig, with what it was promised. */
export interface Subject {
  readonly session_id: string
  /** The prompts by their marks, each with its turn. */
  readonly prompts: Map<string, string>
  /** The files that must be there, as they were acknowledged last. */
  readonly files: Map<string, string>
}

/** The states in which a turn has ended. */
export const ended = /^(?:succeeded|failed|cancelled|interrupted)$/

/** The file of stamps that a turn writes, and the one by which it is told to end. */
export const stamps = "stamps"
export const goOn = "go-on"

/** Writes the time of the machine again and again until it is told to end. */
const stamping = `while [ ! -e ${goOn} ]; do cut -d' ' -f1 /proc/uptime >> ${stamps}; sleep 0.05; done`

export const workspaceOf = (node: Node, { session_id }: Subject): string =>
  join(node.dataDir, "sessions", session_id, "workspace")

/** Sends a prompt that runs a command in the workspace. Gives the turn. */
export const send = async (client: Reins, subject: Subject, cmd: string): Promise<string> => {
  const mark = randomUUID()
  const content = script(`Do ${mark}.`, { tool: "bash", cmd }, { say: "Done." })
  const { turn_id } = await client.messages.send({ session_id: subject.session_id, content })
  if (turn_id == null) throw new Error("the message has no turn")
  subject.prompts.set(mark, turn_id)
  return turn_id
}

/** Waits until a turn has ended, and acknowledges one that was interrupted. Gives its state. */
export const endOf = async (client: Reins, turn_id: string): Promise<string> => {
  const state = await eventually(`the turn ${turn_id} ends`, async () => {
    const turn = await client.turns.get({ turn_id })
    return ended.test(turn.state) && turn.state
  })
  if (state === "interrupted") await client.turns.acknowledge({ turn_id })
  return state
}

/** Runs a command in the workspace of a session, and fails unless its turn succeeds. */
export const work = async (client: Reins, subject: Subject, cmd: string): Promise<void> => {
  const turn_id = await send(client, subject, cmd)
  const state = await endOf(client, turn_id)
  if (state !== "succeeded") throw new Error(JSON.stringify(await client.turns.get({ turn_id })))
}

/** Puts a file into the workspace. */
export const upload = async (client: Reins, subject: Subject, path: string): Promise<void> => {
  const content = randomUUID()
  await client.sessions.uploadFile({ session_id: subject.session_id, path, content })
  subject.files.set(path, content)
}

/** Starts a turn that runs until it is told to end, and waits until it writes. */
export const sendEndless = async (client: Reins, subject: Subject, node: Node): Promise<string> => {
  const turn_id = await send(client, subject, stamping)
  const file = join(workspaceOf(node, subject), stamps)
  await eventually("the turn writes", () => existsSync(file))
  return turn_id
}

/** Tells an endless turn to end. */
export const endEndless = (client: Reins, subject: Subject) => upload(client, subject, goOn)

/** Does something while every session that gets a node gets this one. */
export const steered = async <A>({ query }: Rig, { name }: Node, act: () => Promise<A>): Promise<A> => {
  await query("update nodes set role = case when name = $1 then 'all' else 'api' end", [name])
  try {
    return await act()
  } finally {
    await query("update nodes set role = 'all'")
  }
}

/** A session that has worked, and has a file of its caller. */
export const newSubject = async (rig: Rig, client: Reins): Promise<Subject> => {
  const session_id = await rig.caller.newSession(client)
  const subject: Subject = { session_id, prompts: new Map(), files: new Map() }
  await work(client, subject, "echo kept > kept.txt; echo secret > .env")
  subject.files.set("kept.txt", "kept\n")
  await upload(client, subject, "given.txt")
  return subject
}

/** Waits until everything that has changed is in a snapshot. */
export const allSealed = ({ query }: Rig) =>
  eventually("every session is in a snapshot", async () => {
    const [row] = await query<{ left: string }>("select count(*) as left from unsealed_sessions")
    return row?.left === "0"
  })
