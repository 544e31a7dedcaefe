import { randomUUID } from "node:crypto"
import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { newSession, sessionWithFiles, upload } from "../Scenes.js"
import { type Attempts, again, type Crash, holdsAttempts, type Row } from "./Row.js"

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

/** The first command fails in a workspace that it has been in before, and stays for long enough to be met in its middle. */
const setup = [
  { name: "begin", argv: ["sh", "-c", "test ! -e begun && echo begun | tee begun && sleep 0.5 && mv begun half"] },
  { name: "end", argv: ["sh", "-c", "mv half whole && echo whole > ~/tool"] }
]

/** Nobody uses the rest of a setup that a killed server has left, and the snapshot of the next one is whole. */
export const workspaceIsSetUp: Row = {
  rule: "a setup that was broken off runs again from the start, and the next session finds what it has left",
  play: async (installation, crash) => {
    const { api, workspaceId: workspace_id } = installation
    const slug = `p-${randomUUID().slice(0, 8)}`
    const spec = { ...repository(installation), setup }
    const project = await api.projects.create({ workspace_id, slug, name: "Set up", spec })
    const setUp = async (crashing?: Crash) => {
      const { id: session_id } = await newSession(installation, { project_id: project.id })
      const activate = () => api.sessions.activateExecutor({ session_id })
      const { operation } = await (crashing === undefined ? activate() : crashing(activate))
      await api.jobs.wait({ job_id: operation.job_id })
      const { items: files } = await api.sessions.listFiles({ session_id })
      assert.deepStrictEqual(files.map(({ name }) => name).sort(), ["a.txt", "b.txt", "whole"])
      return api.sessions.listEvents({ session_id, types: "setup.succeeded" })
    }
    assert.lengthOf((await setUp(crash)).items, 1)
    const { items } = await setUp()
    assert.deepStrictEqual(
      items.map(({ payload }) => "from_snapshot" in payload && payload.from_snapshot),
      [true]
    )
  }
}

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
