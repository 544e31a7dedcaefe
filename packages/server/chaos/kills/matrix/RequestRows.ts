import { assert } from "vitest"
import {
  capture,
  changeOfRepository,
  deliver,
  delivered,
  newName,
  newSession,
  openMergeRequest,
  say,
  sessionWithFiles,
  upload
} from "../Scenes.js"
import type { World } from "../World.js"
import type { Row } from "./Row.js"

/** Mutations by what they do; each prepares, and gives back the one request during which the server is killed. */
const mutations: Readonly<Record<string, (world: World) => Promise<() => Promise<unknown>>>> = {
  "creates a session with its first message": async (world) => () => newSession(world, { message: say("Hello.") }),
  "leaves a note": async (world) => {
    const session = await newSession(world)
    return () => world.api.messages.send({ session_id: session.id, content: newName("Note"), routing: "note" })
  },
  delegates: async (world) => {
    const session = await newSession(world)
    return () =>
      world.api.sessions.delegate({ session_id: session.id, role: newName("Scout"), instructions: say("I looked.") })
  },
  "uploads a file": async (world) => {
    const session = await sessionWithFiles(world, { "a.txt": "one\n" })
    return () => upload(world, session.id, { "a.txt": "two\n" })
  },
  captures: async (world) => {
    const session = await sessionWithFiles(world, { "a.txt": "one\n" })
    return () => capture(world, session.id)
  },
  applies: async (world) => {
    const source = await sessionWithFiles(world, { "a.txt": "one\n" })
    const target = await sessionWithFiles(world, { "b.txt": "two\n" })
    const changeset = await capture(world, source.id)
    return () => world.api.changesets.apply({ changeset_id: changeset.id, target_session_id: target.id })
  },
  delivers: async (world) => {
    const changeset = await changeOfRepository(world)
    return () => deliver(world, changeset.id)
  },
  "opens a merge request": async (world) => {
    const delivery = await delivered(world)
    return () => openMergeRequest(world, delivery.id)
  },
  "publishes a version": async (world) => {
    const project = await world.api.projects.create({
      workspace_id: world.workspaceId,
      slug: newName("project").replace(" ", "-"),
      name: "Project"
    })
    return () => world.api.projects.publish({ project_id: project.id, spec: {}, notes: newName("Version") })
  },
  "makes a key, whose secret is shown again": async (world) => () => world.api.apiKeys.create({ name: newName("Key") }),
  "stores a credential": async (world) => () =>
    world.api.connections.create({
      workspace_id: world.workspaceId,
      kind: "gitea",
      label: newName("Forge"),
      credential: { base_url: world.origin.base, token: "t" }
    }),
  "closes a session": async (world) => {
    const session = await newSession(world)
    return () => world.api.sessions.close({ session_id: session.id })
  }
}

/** Before the commit nothing is there and the repetition does it; after it, the repetition is told what the first was not. */
export const requestIsDoneOnce = (before: "commit" | "answer"): ReadonlyArray<Row> =>
  Object.entries(mutations).map(([what, prepare]) => ({
    rule: `a request that ${what} does so once, though its server was killed before the ${before}`,
    play: async (world, crash) => {
      const act = await prepare(world)
      const from = world.ledger.entries.length
      await crash(act)
      assert.strictEqual(world.ledger.entries[from]?.replayed, before === "answer")
    }
  }))
