import { eventually } from "@reins/testing/process/Waiting"
import { assert } from "vitest"
import type { Round } from "./Round.js"
import { type Subject, work } from "./Sessions.js"

/** A session with a repository, whose turn has made a changeset. */
export const newDelivering = async ({ client, rig }: Round): Promise<Subject> => {
  const { id: session_id } = await client.sessions.create({
    workspace_id: rig.caller.workspaceId,
    harness: { provider_id: "alpha", model: "scripted-1" },
    repository: { url: rig.origin.url }
  })
  const subject: Subject = { session_id, prompts: new Map(), files: new Map() }
  await work(client, subject, "echo kept > kept.txt; echo given > given.txt")
  for (const path of ["kept", "given"]) subject.files.set(`${path}.txt`, `${path}\n`)
  return subject
}

/** Asks for the delivery of what the session has made. Gives the id of the delivery. */
export const deliver = async ({ client }: Round, { session_id }: Subject): Promise<string> => {
  const [changeset] = (await client.sessions.listChangesets({ session_id })).items
  const { delivery } = await client.changesets.deliver({ changeset_id: changeset?.id ?? "" })
  return delivery.id
}

/** A delivery that found the disk full says so. It is asked for again when there is room. */
const ofDisk = /^The disk of the service is full/

/** The delivery comes to its end, and its branch was pushed once. */
export const deliveredOnce = async ({ client, rig }: Round, delivery_id: string): Promise<void> => {
  const { target_ref } = await eventually("the delivery has succeeded", async () => {
    const delivery = await client.deliveries.get({ delivery_id })
    if (delivery.state === "failed" && ofDisk.test(delivery.reason_message ?? ""))
      return void (await client.deliveries.retry({ delivery_id }))
    assert.notStrictEqual(delivery.state, "failed", JSON.stringify(delivery))
    return delivery.state === "succeeded" && delivery
  })
  const updates = rig.origin.git("reflog", "show", "--format=%H", target_ref).trim().split("\n")
  assert.lengthOf(updates, 1, `the updates of ${target_ref}`)
  assert.strictEqual(rig.origin.headOf(target_ref), updates[0])
}
