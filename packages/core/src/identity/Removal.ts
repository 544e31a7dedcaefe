import type { AccountId, WorkspaceId } from "@reins/base/domain/Ids"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import { Effect } from "effect"
import * as Memberships from "../access/Memberships.js"
import { Commit, ringAccess } from "../store/Commit.js"
import { Database } from "../store/Database.js"
import type { OwnedRows } from "../store/OwnedRows.js"

const tokensOf = (column: string): OwnedRows => ({
  table: "one_time_tokens",
  of: (sql, id) => sql`subject_id in (select id from workspace_invitations where ${sql.literal(column)} = ${id})`
})

/** The invitations, API keys and members of a workspace. */
export const workspaceRows: ReadonlyArray<OwnedRows> = [
  tokensOf("workspace_id"),
  { table: "workspace_invitations", of: (sql, id) => sql`workspace_id = ${id}` },
  { table: "api_keys", of: (sql, id) => sql`workspace_id = ${id}` },
  { table: "workspace_members", of: (sql, id) => sql`workspace_id = ${id}` }
]

/** All that belongs to an account alone: its logins, keys, tokens and memberships, and the invitations that it has sent and got. */
export const accountRows: ReadonlyArray<OwnedRows> = [
  tokensOf("invited_by"),
  { table: "one_time_tokens", of: (sql, id) => sql`subject_id = ${id}` },
  {
    table: "workspace_invitations",
    of: (sql, id) => sql`(invited_by = ${id} or email = (select email from accounts where accounts.id = ${id}))`
  },
  ...["known_clients", "login_sessions", "api_keys", "workspace_members"].map(
    (table): OwnedRows => ({ table, of: (sql, id) => sql`account_id = ${id}` })
  )
]

/** A workspace of an account that is to be deleted. */
export interface OwnedWorkspace {
  readonly id: WorkspaceId
  readonly name: string
  /** Members besides the account. */
  readonly others: number
  /** Active accounts besides it that own the workspace. */
  readonly owners: number
}

/** The ways in which workspaces and accounts go for good. */
export const identityRemoval = Effect.map(Database, ({ all, first, run, sql }) => ({
  /** Takes a workspace from everybody's sight: it has no members, no keys and no name any more. The commit holds the workspace. */
  hideWorkspace: Effect.fnUntraced(function* (id: string): Effect.fn.Return<void, never, Commit> {
    const at = yield* now
    const hidden = { name: "", personal_account_id: null, retention_session_days: null, deleting_at: at }
    yield* Commit
    yield* run(sql`update workspaces set ${sql.update(hidden)} where id = ${id}`)
    yield* run(sql`update api_keys set revoked_at = coalesce(revoked_at, ${at}) where workspace_id = ${id}`)
    const members = yield* all(sql<{ account_id: AccountId }>`delete from workspace_members where workspace_id = ${id}
      returning account_id`)
    yield* ringAccess(...members.map(({ account_id }) => account_id))
  }),

  /** The jobs that have sent the mails of the open invitations of a workspace. */
  invitationMailsOf: (id: string): Effect.Effect<ReadonlyArray<string>> =>
    Effect.map(
      all(sql<{ id: string }>`select jobs.id from jobs
        join workspace_invitations on workspace_invitations.id = jobs.subject_id
        where workspace_invitations.workspace_id = ${id}`),
      (rows) => rows.map((row) => row.id)
    ),

  /** Deletes the workspace itself, of which nothing else is left. */
  removeWorkspace: (id: string): Effect.Effect<void, never, Commit> =>
    Effect.zipRight(Commit, run(sql`delete from workspaces where id = ${id}`)),

  /** The workspaces that an account owns. */
  ownedBy: (accountId: AccountId): Effect.Effect<ReadonlyArray<OwnedWorkspace>> =>
    all(sql<OwnedWorkspace>`select workspaces.id, workspaces.name,
        (select cast(count(*) as integer) from workspace_members others
          where others.workspace_id = workspaces.id and others.account_id <> ${accountId}) as others,
        (select cast(count(*) as integer) from workspace_members others
          join accounts on accounts.id = others.account_id and accounts.state = 'active'
          where others.workspace_id = workspaces.id and others.account_id <> ${accountId} and others.role = 'owner') as owners
      from workspaces join ${Memberships.workspacesOf(sql, accountId)} as own
        on own.workspace_id = workspaces.id and own.role = 'owner'
      order by workspaces.id`),

  /** Takes from an account all by which somebody could act for it. Its personal workspace, where others stay, is an ordinary one. */
  hideAccount: Effect.fnUntraced(function* (accountId: AccountId): Effect.fn.Return<void, never, Commit> {
    const at = yield* now
    yield* Commit
    yield* run(sql`update accounts set state = 'disabled', updated_at = ${at} where id = ${accountId}`)
    yield* run(sql`update workspaces set personal_account_id = null where personal_account_id = ${accountId}`)
    yield* run(sql`update api_keys set revoked_at = coalesce(revoked_at, ${at}) where account_id = ${accountId}`)
    yield* run(sql`update login_sessions set ended_at = coalesce(ended_at, ${at}) where account_id = ${accountId}`)
    yield* run(sql`delete from workspace_members where account_id = ${accountId}`)
    yield* ringAccess(accountId)
  }),

  /** The address of an account; undefined once it was emptied. */
  addressOf: (accountId: string): Effect.Effect<string | undefined> =>
    Effect.map(
      first(sql<{ email: string }>`select email from accounts where id = ${accountId} and email <> ${accountId}`),
      (row) => row?.email
    ),

  /** Empties the row of an account. Its address is free. */
  emptyAccount: (accountId: string): Effect.Effect<void, never, Commit> =>
    Effect.zipRight(
      Commit,
      run(sql`update accounts set ${sql.update({ email: accountId, display_name: null, git_name: null, git_email: null, password_hash: "" })}
        where id = ${accountId}`)
    ),

  /** Deletes the account itself, of which nothing else is left. */
  removeAccount: (accountId: string): Effect.Effect<void, never, Commit> =>
    Effect.zipRight(Commit, run(sql`delete from accounts where id = ${accountId}`)),

  /** The workspaces that delete their old sessions, with the time before which a session is old. */
  retentions: Effect.gen(function* () {
    const rows = yield* all(sql<{ id: WorkspaceId; days: number }>`select id, retention_session_days as days
      from workspaces where retention_session_days is not null and deleting_at is null order by id`)
    return yield* Effect.forEach(rows, ({ days, id }) =>
      Effect.map(fromNow(-days * 86_400_000), (before) => ({ id, before }))
    )
  })
}))
