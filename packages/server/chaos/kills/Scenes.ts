import { randomUUID } from "node:crypto"
import type { Step } from "reins-example-scripted-gateway/gateway.mjs"
import type { Installation } from "./Installation.js"

/** A name that is given once. */
export const newName = (words: string): string => `${words} ${randomUUID()}`

/** A message that tells the scripted gateway what the model does. */
export const script = (steps: ReadonlyArray<Step>): string => `${newName("Work.")} SCRIPT:${JSON.stringify(steps)}`

export const say = (text: string): string => script([{ say: text }])

export const newSession = (
  installation: Installation,
  input: {
    readonly project_id?: string
    readonly repository?: { readonly url: string }
    readonly message?: string
  } = {}
) =>
  installation.api.sessions.create({
    workspace_id: installation.workspaceId,
    title: newName("Session"),
    harness: { provider_id: "alpha", model: "scripted-1" },
    ...input
  })

/** A session with a workspace that nothing is in but what is uploaded here. */
export const sessionWithFiles = async (installation: Installation, files: Readonly<Record<string, string>>) => {
  const session = await newSession(installation)
  await upload(installation, session.id, files)
  return session
}

export const upload = async (
  installation: Installation,
  session_id: string,
  files: Readonly<Record<string, string>>
) => {
  for (const [path, content] of Object.entries(files))
    await installation.api.sessions.uploadFile({ session_id, path, content })
}

/** The content of a session, sealed. */
export const capture = async (installation: Installation, session_id: string) => {
  const { changeset, operation } = await installation.api.sessions.capture({ session_id, label: newName("Capture") })
  await installation.api.jobs.wait({ job_id: operation.job_id })
  return installation.api.changesets.get({ changeset_id: changeset.id })
}

/** A sealed change of the repository, that no other has made. */
export const changeOfRepository = async (installation: Installation) => {
  const session = await newSession(installation, { repository: { url: installation.origin.url } })
  await upload(installation, session.id, { "changed.txt": newName("Changed") })
  return capture(installation, session.id)
}

/** A change of the repository, on a branch of its own. */
export const delivered = async (installation: Installation) => {
  const changeset = await changeOfRepository(installation)
  const { delivery, operation } = await deliver(installation, changeset.id)
  await installation.api.jobs.wait({ job_id: operation.job_id })
  return installation.api.deliveries.get({ delivery_id: delivery.id })
}

export const deliver = (
  installation: Installation,
  changeset_id: string,
  input: { readonly onto?: "base" | "head" } = {}
) =>
  installation.api.changesets.deliver({
    changeset_id,
    title: newName("Delivery"),
    connection_id: installation.forgeConnectionId,
    ...input
  })

export const openMergeRequest = (installation: Installation, delivery_id: string) =>
  installation.api.deliveries.openMergeRequest({ delivery_id, title: newName("Request"), draft: false })

/** A delegation whose child has done its turn and sealed its changes, and that waits for somebody to submit the result. */
export const delegationWithoutResult = async (installation: Installation) => {
  const parent = await newSession(installation)
  const { delegation, operation } = await installation.api.sessions.delegate({
    session_id: parent.id,
    role: newName("Reviewer"),
    instructions: say("I looked."),
    result_schema: { type: "object" }
  })
  await installation.api.jobs.wait({ job_id: operation.job_id })
  // The job that seals would be at a point of jobs before the one that a row is about.
  await installation.settled()
  return delegation
}
