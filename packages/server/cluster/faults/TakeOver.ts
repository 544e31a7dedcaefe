import { Reins } from "@reins/client"
import { eventually } from "@reins/testing/process/Waiting"
import { type Fault, faults, renewed } from "./Faults.js"
import type { Rig } from "./Rig.js"
import { allSealed, newSubject, steered, work } from "./Sessions.js"

/** The ways in which a node can go. */
const ways = {
  "kill -9": faults["kill -9"],
  "link down": faults["link down"],
  SIGTERM: { begin: (_, node) => node.signal("SIGTERM"), heal: (_, node) => node.start() }
} satisfies Record<string, Pick<Fault, "begin" | "heal">>

/**
 * Lets a node go that has a session at rest, and gives the times from that moment until another node reads a file of the session, and until it has run
 * a turn of it. Its callers ask again and again.
 */
export const takeOver = async (rig: Rig, name: keyof typeof ways): Promise<{ readMs: number; turnMs: number }> => {
  const [node, other] = rig.nodes
  const client = new Reins({ baseUrl: other.url, apiKey: rig.caller.apiKey })
  const subject = await steered(rig, node, () => newSubject(rig, client))
  await allSealed(rig)
  const { begin, heal }: Pick<Fault, "begin" | "heal"> = ways[name]
  const begun = performance.now()
  const gone = begin(rig, node)
  const path = `/api/sessions/${subject.session_id}/files/content?path=kept.txt`
  const headers = { authorization: `Bearer ${rig.caller.apiKey}` }
  await eventually("another node reads the file", async () => {
    const answer = await fetch(`${other.url}${path}`, { headers })
    await answer.text()
    return answer.status === 200
  })
  const readMs = performance.now() - begun
  await work(client, subject, "cat kept.txt")
  const turnMs = performance.now() - begun
  await gone
  await heal(rig, node)
  await renewed(rig, node)
  return { readMs, turnMs }
}
