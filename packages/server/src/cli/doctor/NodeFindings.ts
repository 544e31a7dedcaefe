import type { SessionId } from "@reins/base/domain/Ids"
import { some } from "@reins/cli/terminal/Listing"
import * as NodeRows from "@reins/core/placement/NodeRows"
import { Database } from "@reins/core/store/Database"
import { type SealFacts, sealFacts } from "@reins/core/worktrees/snapshots/SnapshotFacts"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "../operator/Installation.js"
import { type Finding, ok, warn } from "./Finding.js"

/** Checks every node of an installation on several machines, and where the files of its sessions are. Nothing on one machine. */
export const nodeFindings = (config: Config): Effect.Effect<ReadonlyArray<Finding>> =>
  config.databaseUrl === undefined
    ? Effect.succeed([])
    : Effect.gen(function* () {
        const db = yield* Database
        const nodes = yield* NodeRows.list(db)
        const places = yield* NodeRows.places(db)
        if (nodes.length === 0 && places.size === 0) return []
        const held = yield* NodeRows.held(db)
        const facts = yield* sealFacts(db)
        return [
          ...nodes.map((node) => nodeFinding(node, held.get(node.name) ?? 0)),
          ...withoutAll(nodes),
          ...sessionFindings(facts, places)
        ]
      }).pipe(
        Effect.provide(Installation.databaseAsIs(config)),
        // The check of the database says what is wrong with it, and with its schema.
        Effect.catchAll(() => Effect.succeed([])),
        Effect.catchAllDefect(() => Effect.succeed([]))
      )

const counted = (count: number): string => (count === 1 ? "1 session" : `${count} sessions`)

const nodeFinding = (node: NodeRows.KnownNode, sessions: number): Finding => {
  const { address, name, release, role, state } = node
  const check = "nodes"
  const has = `${name} (${role}, ${address}, release ${release}) has ${counted(sessions)}`
  const seconds = Math.round(Math.abs(node.leftMs) / 1000)
  const back = `Start it with its disk, or give its sessions to others from their snapshots: reins node forget ${name}`
  switch (state) {
    case "active":
      return ok(check, `${has}, and its lease for ${seconds} s more`)
    case "draining":
      return warn(
        check,
        `${has}, gives them away and takes none`,
        sessions === 0
          ? `Stop it when you like, or start it again to use it.`
          : "Wait for its turns to end, and look again: reins node list"
      )
    case "lost":
      return warn(check, `${has} and is lost: its lease ended ${seconds} s ago`, back)
    case "gone":
      return sessions === 0 ? ok(check, `${has} and was stopped in order`) : warn(check, `${has} and was stopped`, back)
  }
}

/** Somebody has to have sessions. */
const withoutAll = (nodes: ReadonlyArray<NodeRows.KnownNode>): ReadonlyArray<Finding> =>
  nodes.some(({ role, state }) => role !== "api" && state === "active")
    ? []
    : [warn("nodes", "no node that takes sessions is up", "Start one: reins serve --node NAME --role runner or all")]

const sessionFindings = (
  facts: ReadonlyArray<SealFacts>,
  places: ReadonlyMap<string, NodeRows.StoredPlace>
): ReadonlyArray<Finding> => {
  const check = "sessions"
  const withFiles = facts.filter(({ workspace_state }) => workspace_state === "ready" || workspace_state === "removed")
  const isLost = ({ session_id }: SealFacts) => places.get(session_id)?.state === "lost"
  const hasNone = ({ lifecycle, snapshot_id }: SealFacts) => snapshot_id === null && lifecycle !== "closed"
  const begins = withFiles.filter((session) => isLost(session) && hasNone(session))
  const lost = withFiles.filter((session) => isLost(session) && !hasNone(session))
  const without = withFiles.filter((session) => !isLost(session) && hasNone(session))
  const found = [
    begins.length === 0
      ? undefined
      : warn(
          check,
          `${counted(begins.length)} lost ${begins.length === 1 ? "its" : "their"} files and never had a snapshot: ${named(begins)}`,
          "The next turn begins anew from the repository. Look into lost+found of the node that had them."
        ),
    lost.length === 0
      ? undefined
      : warn(
          check,
          `${counted(lost.length)} lost ${lost.length === 1 ? "its" : "their"} node: ${named(lost)}`,
          "Nothing has to be done: the next turn, read or upload brings the newest snapshot to another node."
        ),
    without.length === 0
      ? undefined
      : warn(
          check,
          `${counted(without.length)} without any snapshot: ${named(without)}`,
          "They are on the disk of their node alone. They get one with their next turn, or when the node is drained."
        )
  ].filter((finding) => finding !== undefined)
  return found.length === 0
    ? [ok(check, `${counted(withFiles.length)} with files, each on a node or in a snapshot`)]
    : found
}

const named = (facts: ReadonlyArray<{ readonly session_id: SessionId }>): string =>
  some(facts.map(({ session_id }) => session_id))
