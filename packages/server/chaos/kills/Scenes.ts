import { randomUUID } from "node:crypto"
import type { Step } from "reins-example-scripted-gateway/gateway.mjs"
import type { World } from "./World.js"

/** A name that is given once. */
export const newName = (words: string): string => `${words} ${randomUUID()}`

/** A message that tells the scripted gateway what the model does. */
export const script = (steps: ReadonlyArray<Step>): string => `${newName("Work.")} SCRIPT:${JSON.stringify(steps)}`

export const say = (text: string): string => script([{ say: text }])

export const newSession = (
  world: World,
  input: { readonly repository?: { readonly url: string }; readonly message?: string } = {}
) =>
  world.api.sessions.create({
    workspace_id: world.workspaceId,
    title: newName("Session"),
    harness: { provider_id: "alpha", model: "scripted-1" },
    ...input
  })

/** A session with a workspace that nothing is in but what is uploaded here. */
export const sessionWithFiles = async (world: World, files: Readonly<Record<string, string>>) => {
  const session = await newSession(world)
  await upload(world, session.id, files)
  return session
}

export const upload = async (world: World, session_id: string, files: Readonly<Record<string, string>>) => {
  for (const [path, content] of Object.entries(files))
    await world.api.sessions.uploadFile({ session_id, path, content })
}

/** What a session holds, sealed. */
export const capture = async (world: World, session_id: string) => {
  const { changeset, operation } = await world.api.sessions.capture({ session_id, label: newName("Capture") })
  await world.api.jobs.wait({ job_id: operation.job_id })
  return world.api.changesets.get({ changeset_id: changeset.id })
}

/** A sealed change of the repository, that no other has made. */
export const changeOfRepository = async (world: World) => {
  const session = await newSession(world, { repository: { url: world.origin.url } })
  await upload(world, session.id, { "changed.txt": newName("Changed") })
  return capture(world, session.id)
}

/** A change of the repository, on a branch of its own. */
export const delivered = async (world: World) => {
  const changeset = await changeOfRepository(world)
  const { delivery, operation } = await deliver(world, changeset.id)
  await world.api.jobs.wait({ job_id: operation.job_id })
  return world.api.deliveries.get({ delivery_id: delivery.id })
}

export const deliver = (world: World, changeset_id: string) =>
  world.api.changesets.deliver({
    changeset_id,
    title: newName("Delivery"),
    connection_id: world.forgeConnectionId
  })

export const openMergeRequest = (world: World, delivery_id: string) =>
  world.api.deliveries.openMergeRequest({ delivery_id, title: newName("Request"), draft: false })

/** A delegation whose child has done its turn, and that waits for somebody to submit the result. */
export const delegationWithoutResult = async (world: World) => {
  const parent = await newSession(world)
  const { delegation, operation } = await world.api.sessions.delegate({
    session_id: parent.id,
    role: newName("Reviewer"),
    instructions: say("I looked."),
    result_schema: { type: "object" }
  })
  await world.api.jobs.wait({ job_id: operation.job_id })
  return delegation
}
