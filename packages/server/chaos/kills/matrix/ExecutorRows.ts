import { assert } from "vitest"
import { newSession, sessionWithFiles, upload } from "../Scenes.js"
import type { World } from "../World.js"
import { type Attempts, again, holdsAttempts, type Row } from "./Row.js"

const repository = (world: World) => ({ repository: { url: world.origin.url } })

/** The lease is written down before anything is made for it, so nothing is made that nobody knows of. */
export const executorIsActivatedOnce = (attempts: Attempts): Row => ({
  rule: "an executor and its workspace are made, once",
  play: async (world, crash) => {
    const session = await newSession(world, repository(world))
    const { operation } = await crash(() => world.api.sessions.activateExecutor({ session_id: session.id }))
    const { lease, workspace } = await world.api.sessions.executor({ session_id: session.id })
    assert.deepStrictEqual([lease.state, workspace.state], ["ready", "ready"])
    const { items } = await world.api.sessions.listFiles({ session_id: session.id })
    assert.includeMembers(
      items.map((file) => file.name),
      ["a.txt", "b.txt"]
    )
    await holdsAttempts(world, operation, attempts)
  }
})

export const workspaceIsMadeByUpload: Row = {
  rule: "an upload makes the workspace anew when it was not made whole",
  play: async (world, crash) => {
    const session = await newSession(world, repository(world))
    await crash(() => upload(world, session.id, { "a.txt": "mine\n" }))
    const file = await world.api.sessions.readFile({ session_id: session.id, path: "b.txt" })
    assert.strictEqual(file.content, "two\n")
  }
}

/** A session with an executor and a file that no changeset holds. */
const activated = async (world: World) => {
  const session = await sessionWithFiles(world, { "unsaved.txt": "unsaved\n" })
  const { operation } = await world.api.sessions.activateExecutor({ session_id: session.id })
  await world.api.jobs.wait({ job_id: operation.job_id })
  return session
}

const salvagesOf = async (world: World, session_id: string) =>
  (await world.api.sessions.listChangesets({ session_id })).items.filter(
    (changeset) => changeset.origin === "salvage" && changeset.state === "ready"
  )

export const executorIsReleasedOnce = (attempts: Attempts): Row => ({
  rule: "an executor is released, and what nobody had captured is salvaged, once",
  play: async (world, crash) => {
    const session = await activated(world)
    const { operation } = await crash(() => world.api.sessions.releaseExecutor({ session_id: session.id }))
    const { lease } = await world.api.sessions.executor({ session_id: session.id })
    assert.strictEqual(lease.state, "released")
    const salvages = await salvagesOf(world, session.id)
    assert.deepStrictEqual(
      salvages.map((changeset) => changeset.files.map((file) => file.path)),
      [["unsaved.txt"]]
    )
    await holdsAttempts(world, operation, attempts)
  }
})

export const workspaceIsRemoved: Row = {
  rule: "a session that was closed loses its files, and keeps what was salvaged of them",
  play: async (world, crash) => {
    const session = await activated(world)
    await crash(() => world.api.sessions.close({ session_id: session.id }))
    const { lease, workspace } = await world.api.sessions.executor({ session_id: session.id })
    assert.deepStrictEqual([lease.state, workspace.state], ["released", "removed"])
    assert.lengthOf(await salvagesOf(world, session.id), 1)
  }
}

export const executorIsReady = executorIsActivatedOnce(again)
