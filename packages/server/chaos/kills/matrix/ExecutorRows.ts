import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newSession, sessionWithFiles, upload } from "../Scenes.js"
import { type Attempts, again, holdsAttempts, type Row } from "./Row.js"

const repository = (installation: Installation) => ({ repository: { url: installation.origin.url } })

/** The lease is written down before anything is made for it, so nothing is made that nobody knows of. */
export const executorIsActivatedOnce = (attempts: Attempts): Row => ({
  rule: "an executor and its workspace are made, once",
  play: async (installation, crash) => {
    const session = await newSession(installation, repository(installation))
    const { operation } = await crash(() => installation.api.sessions.activateExecutor({ session_id: session.id }))
    const { lease, workspace } = await installation.api.sessions.getExecutor({ session_id: session.id })
    assert.deepStrictEqual([lease.state, workspace.state], ["ready", "ready"])
    const { items } = await installation.api.sessions.listFiles({ session_id: session.id })
    assert.includeMembers(
      items.map((file) => file.name),
      ["a.txt", "b.txt"]
    )
    await holdsAttempts(installation, operation, attempts)
  }
})

export const workspaceIsMadeByUpload: Row = {
  rule: "an upload makes the workspace anew when it was not made whole",
  play: async (installation, crash) => {
    const session = await newSession(installation, repository(installation))
    await crash(() => upload(installation, session.id, { "a.txt": "mine\n" }))
    const file = await installation.api.sessions.getFile({ session_id: session.id, path: "b.txt" })
    assert.strictEqual(file.content, "two\n")
  }
}

/** A session with an executor and a file that no changeset holds. */
const activated = async (installation: Installation) => {
  const session = await sessionWithFiles(installation, { "unsaved.txt": "unsaved\n" })
  const { operation } = await installation.api.sessions.activateExecutor({ session_id: session.id })
  await installation.api.jobs.wait({ job_id: operation.job_id })
  return session
}

const salvagesOf = async (installation: Installation, session_id: string) =>
  (await installation.api.sessions.listChangesets({ session_id })).items.filter(
    (changeset) => changeset.origin === "salvage" && changeset.state === "ready"
  )

export const executorIsReleasedOnce = (attempts: Attempts): Row => ({
  rule: "an executor is released, and what nobody had captured is salvaged, once",
  play: async (installation, crash) => {
    const session = await activated(installation)
    const { operation } = await crash(() => installation.api.sessions.releaseExecutor({ session_id: session.id }))
    const { lease } = await installation.api.sessions.getExecutor({ session_id: session.id })
    assert.strictEqual(lease.state, "released")
    const salvages = await salvagesOf(installation, session.id)
    assert.deepStrictEqual(
      salvages.map((changeset) => changeset.files.map((file) => file.path)),
      [["unsaved.txt"]]
    )
    await holdsAttempts(installation, operation, attempts)
  }
})

export const workspaceIsRemoved: Row = {
  rule: "a session that was closed loses its files, and keeps what was salvaged of them",
  play: async (installation, crash) => {
    const session = await activated(installation)
    await crash(() => installation.api.sessions.close({ session_id: session.id }))
    const { lease, workspace } = await installation.api.sessions.getExecutor({ session_id: session.id })
    assert.deepStrictEqual([lease.state, workspace.state], ["released", "removed"])
    assert.lengthOf(await salvagesOf(installation, session.id), 1)
  }
}

export const executorIsReady = executorIsActivatedOnce(again)
