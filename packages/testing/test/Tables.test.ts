import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import ts from "typescript"
import { assert, it } from "vitest"

const source = join(import.meta.dirname, "../../core/src")
const others = ["base", "machine", "server", "client"].map((name) => join(import.meta.dirname, "../..", name, "src"))
const schema = join(source, "store/schema")

/** Statements that name a table of another room for good, with the reason. */
const lasting: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["leases", "working_trees", "agent_states"].map((table) => [
      `sessions/rows/SessionStatements.ts names ${table}`,
      "a session is read in one statement, with its lease, its files and the memory of its agent, and added with what its files start from"
    ])
  ),
  "sessions/rows/Quotas.ts names working_trees": "the quotas of a workspace count the files of its sessions",
  "sessions/rows/Quotas.ts names leases":
    "the files of a session with a lease change at any time, so they are measured again",
  "worktrees/SessionFacts.ts names sessions":
    "one statement tells of all sessions which files belong to them, for a backup and for the doctor",
  "store/SessionLog.ts names sessions":
    "the ends of a log stand in the row of its session, so that an append needs one lock",
  "store/PgAtWork.ts names nodes":
    "a step that takes something away looks for servers that use it before any service of the database is there",
  "store/WorkspaceLog.ts names sessions":
    "a reader of a workspace picks events by the project and the labels of their session",
  "worktrees/snapshots/SnapshotFacts.ts names sessions":
    "one statement tells of all sessions what of their files is sealed, for a backup and for the doctor, also of many",
  "automations/AutomationStore.ts names followers":
    "an automation that is gone or has another trigger leaves no position of its reader",
  "sessions/rows/SearchIndex.ts names agreements":
    "how far earlier texts are in the index is agreed on by all processes of a database",
  "deliveries/DeliveryRows.ts names changesets":
    "the commits of a branch are told from those of people by the trees of their changesets",
  "deliveries/DeliveryRows.ts names merge_requests": "work goes on top of a branch whose merge request has not ended",
  "requests/conditions/FactReads.ts names changesets":
    "a verdict counts for a head whose files are those of its changeset",
  "requests/conditions/FactReads.ts names deliveries":
    "the changeset of a head is found by the delivery that pushed it",
  "requests/conditions/VerdictStore.ts names changesets":
    "a verdict on the same files counts for each changeset that has them",
  "requests/rows/PartRows.ts names deliveries": "a head that the session has pushed is told from one of somebody else",
  "requests/rows/MergeRequestStore.ts names sessions": "the merge requests of a workspace are found by their sessions",
  "care/CareStore.ts names merge_requests": "the cares of a workspace are found by their merge requests",
  "care/CareStore.ts names changesets": "an attention shows the turn that made its changeset",
  "care/CareStore.ts names turns": "an attention shows the turn that made its changeset",
  "care/FollowRows.ts names merge_requests": "the work of a turn goes to the open merge requests of its session",
  "care/FollowRows.ts names changesets": "the newest work of a session is found by the turn that made it",
  "care/FollowRows.ts names turns": "the newest work of a session is found by the turn that made it",
  "care/FollowRows.ts names deliveries": "the work of a turn waits for an earlier delivery to the same branch",
  "worktrees/snapshots/AwaitedFiles.ts names turns": "a session that has ended no turn has no files to wait for",
  "requests/rows/MergeRequestStore.ts names cares": "a list of merge requests shows and takes the state of their care",
  "budgets/SessionRows.ts names turns": "the budgets and the calls of the turns of a session go with it",
  "budgets/WorkspaceRows.ts names api_keys": "the budgets of the keys of a workspace or an account go with those",
  "delegations/DelegationStore.ts names sessions": "the delegations of a tree are counted by the sessions in it",
  "identity/Removal.ts names workspace_members":
    "the members of a workspace go with it, and the workspaces of an account are found by them",
  "identity/Removal.ts names jobs": "the mails of invitations are found by the jobs that sent them",
  "jobs/WorkspaceRows.ts names workspace_invitations": "the jobs that send mails are found by their invitations",
  "jobs/WorkspaceRows.ts names accounts": "the jobs that send mails are found by their accounts",
  "sessions/rows/SessionFilters.ts names working_trees": "sessions are listed by their repository",
  "store/SessionLog.ts names session_deletions": "events that tell of a deletion are purged after its receipt",
  "store/WorkspaceRows.ts names session_deletions": "the log of a workspace goes with the receipts of its sessions",
  "tools/Acting.ts names turns": "a call looks up the key of its turn",
  "worktrees/snapshots/SnapshotFacts.ts names turns": "the same statement tells which of them a turn works on"
}

/** The room of each table: the file of the schema that makes it has the name of the room. */
const roomOf = new Map<string, string>(
  readdirSync(schema).flatMap((file) =>
    [...readFileSync(join(schema, file), "utf8").matchAll(/\btable (\w+)/g)].map(
      ([, table = ""]) => [table, file.replace(/\.ts$/, "")] as const
    )
  )
)

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.parentPath.startsWith(schema))
    .map((entry) => join(entry.parentPath, entry.name))

const sourceFiles = filesBelow(source)

/** The texts of the statements of a file, without the values that are put into them. */
const statementsOf = (path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && /\bsql$/.test(node.tag.getText())) {
      const { template } = node
      found.push(
        ts.isNoSubstitutionTemplateLiteral(template)
          ? template.text
          : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)].join(" ? ")
      )
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true))
  return found
}

const tablesOf = (statement: string): ReadonlyArray<string> =>
  [...statement.matchAll(/\b(?:from|join|into|update)\s+(\w+)/g)].flatMap(([, name = ""]) =>
    roomOf.has(name) ? [name] : []
  )

it("SQL names the tables of its own room alone, but for the exceptions that are listed", () => {
  const named = sourceFiles.flatMap((path) => {
    const file = relative(source, path)
    const foreign = statementsOf(path)
      .flatMap(tablesOf)
      .filter((table) => roomOf.get(table) !== file.split("/")[0])
    return [...new Set(foreign)].map((table) => `${file} names ${table}`)
  })
  assert.sameMembers(named, Object.keys(lasting))
})

it("what is outside of the rooms of rows names no table", () => {
  const named = others.flatMap(filesBelow).flatMap((path) => statementsOf(path).flatMap(tablesOf))
  assert.deepStrictEqual(named, [])
})

it("every table that is made belongs to a room, and some statement of that room names it", () => {
  const rooms = new Set(readdirSync(source))
  assert.deepStrictEqual(
    [...roomOf].filter(([, room]) => !rooms.has(room)),
    []
  )
  const named = new Set(
    sourceFiles.flatMap((path) =>
      statementsOf(path)
        .flatMap(tablesOf)
        .map((table) => `${relative(source, path).split("/")[0]} ${table}`)
    )
  )
  assert.deepStrictEqual(
    [...roomOf].filter(([table, room]) => !named.has(`${room} ${table}`)),
    []
  )
})
